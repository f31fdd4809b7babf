# What users of lm() and its like try on a model, and what is there instead.

coef.kronorm <- function(object, ...)
  refuse("a model of kronorm has no coefficients: summary() says how much of the signal each term has, predict() what it expects")

fitted.kronorm <- function(object, ...)
  refuse("a model of kronorm keeps no fitted values: zscore(object) has the z of training people by models that have not seen ",
         "them, predict() what is expected of anybody")

residuals.kronorm <- function(object, ...)
  refuse("a model of kronorm keeps no residuals: zscore(object) has the z of training people by models that have not seen them")
