# Methods of lm() that a model does not have, with a sentence about the alternative.

coef.kronorm <- function(object, ...)
  refuse("a kronorm model has no coefficients: use summary() for the signal of each term and predict() for predictions")

fitted.kronorm <- function(object, ...)
  refuse("a kronorm model has no fitted values: use zscore(object) for cross-validated z-scores of the training sample, and ",
         "predict() for predictions")

residuals.kronorm <- function(object, ...)
  refuse("a kronorm model has no residuals: use zscore(object) for cross-validated z-scores of the training sample")
