# ~ age + sex + (1 | site) as covariates, batches and interactions.
#
#   age            a covariate                      .         all columns
#   (1 | site)     a covariate that is a batch      - weight  but this one
#   site:age       slopes of age that differ        (age | site)  a batch with such slopes
#   (1 | id)       rows of one person share noise    age * site  age + site + age:site

# list(lhs, all, covariates, drop, batch, interaction (pairs of names), person)
read_formula <- function(formula) {
  if (!inherits(formula, "formula"))
    refuse("formula is ", class(formula)[1], ", expected a formula such as ~ age + sex + (1 | site)")
  said <- list(lhs = if (length(formula) == 3) formula[[2]], all = FALSE, covariates = character(),
               drop = character(), batch = character(), interaction = list())
  said <- read_term(formula[[length(formula)]], said)
  said$covariates <- unique(said$covariates)
  if (!said$all && length(said$covariates) == 0 && length(said$interaction) == 0)
    refuse("the formula has no covariate, expected one such as ~ age + (1 | site)")
  said
}

# update(model, . ~ . - sex) of a formula without a left side leaves a dot there.
without_dot <- function(formula) {
  if (inherits(formula, "formula") && length(formula) == 3 && identical(formula[[2]], quote(.)))
    formula[[2]] <- NULL
  formula
}

read_term <- function(term, said) {
  if (is.name(term)) {
    if (identical(term, quote(.))) said$all <- TRUE
    else said <- with_covariate(said, as.character(term))
    return(said)
  }
  if (is.numeric(term) && length(term) == 1 && term == 1)
    return(said)
  head <- if (is.call(term) && is.name(term[[1]])) as.character(term[[1]]) else ""
  if (head == "+" && length(term) == 2)
    read_term(term[[2]], said)
  else if (head == "+")
    read_term(term[[3]], read_term(term[[2]], said))
  else if (head == "-" && length(term) == 3 && is.name(term[[3]])) {
    said <- read_term(term[[2]], said)
    without_covariate(said, as.character(term[[3]]))
  }
  else if (head == "(" && is_bar(term[[2]]))
    read_bar(term[[2]], said)
  else if (head == "(")
    read_term(term[[2]], said)
  else if (head == "*" && is.name(term[[2]]) && is.name(term[[3]])) {
    term[[1]] <- quote(`:`)
    read_term(term, read_term(term[[3]], read_term(term[[2]], said)))
  }
  else if (head == ":" && is.name(term[[2]]) && is.name(term[[3]])) {
    said$interaction <- c(said$interaction, list(c(as.character(term[[2]]), as.character(term[[3]]))))
    said
  }
  else
    refuse_term(term, head)
}

# Terms are read from left to right: . - site + (1 | site) has site, and age + site - site has not.
with_covariate <- function(said, name) {
  said$covariates <- c(said$covariates, name)
  said$drop <- setdiff(said$drop, name)
  said
}

without_covariate <- function(said, name) {
  if (!name %in% said$batch) { # site is not (1 | site)
    said$covariates <- setdiff(said$covariates, name)
    said$drop <- c(said$drop, name)
  }
  said
}

is_bar <- function(term)
  is.call(term) && is.name(term[[1]]) && as.character(term[[1]]) %in% c("|", "||")

# (1 | site), (age | site), (1 + age | site)
read_bar <- function(bar, said) {
  by <- bar[[3]]
  shown <- paste0("(", one_line(bar), ")")
  if (!is.name(by))
    refuse(shown, ": expected the name of one column after the bar; for two columns, write ",
           "(1 | site) + (1 | scanner)")
  by <- as.character(by)
  slopes <- bar_slopes(bar[[2]])
  if (is.null(slopes) || as.character(bar[[1]]) == "||")
    refuse(shown, ": expected (1 | ", by, "), or (age | ", by, ") for different slopes of age")
  said <- with_covariate(said, by)
  said$batch <- unique(c(said$batch, by))
  said$interaction <- c(said$interaction, lapply(slopes, function(x) c(by, x)))
  said
}

# Names before the bar; NULL: something else is there.
bar_slopes <- function(term) {
  if (is.numeric(term))
    return(if (identical(as.numeric(term), 1)) character())
  if (is.name(term))
    return(as.character(term))
  if (!is.call(term) || !identical(term[[1]], quote(`+`)) || length(term) != 3)
    return(NULL)
  first <- bar_slopes(term[[2]])
  second <- bar_slopes(term[[3]])
  if (!is.null(first) && !is.null(second)) c(first, second)
}

one_line <- function(term) paste(trimws(deparse(term)), collapse = " ")

SMOOTH <- c("I", "poly", "s", "te", "ti", "t2", "ns", "bs", "cs", "ps", "pb", "pbm", "rcs", "lo", "fp")
RANDOM <- c("random", "re", "ranef")

refuse_term <- function(term, head) {
  shown <- one_line(term)
  inside <- all.vars(term)
  if (is.call(term) && is.call(term[[1]]) && as.character(term[[1]][[1]]) %in% c("::", ":::"))
    head <- as.character(term[[1]][[3]]) # mgcv::s(age)
  refuse("formula: ", shown, " is not supported: ", instead_of_term(term, head, inside, shown))
}

instead_of_term <- function(term, head, inside, shown) {
  of <- if (length(inside)) inside[1] else "age"
  if (head %in% RANDOM || head == "s" && identical(term$bs, "re"))
    paste0("write (1 | ", of, ")")
  else if (head == "s" && is.name(term$by))
    paste0("write ", of, " + ", term$by, " + ", term$by, ":", of, ", effects are always smooth")
  else if (head %in% SMOOTH)
    paste0("write ", paste(smoothed(term), collapse = " + "), ", effects are always smooth")
  else if (head %in% c("*", "^", "%in%", "/"))
    paste0("write ", paste(inside, collapse = " + "), if (length(inside) > 1)
           paste0(" + ", inside[1], ":", inside[2]))
  else if (head == ":")
    "an interaction is between one category and one number, such as site:age"
  else if (head %in% c("factor", "as.factor"))
    paste0("write ", of, " and categorical = \"", of, "\"")
  else if (head %in% c("as.numeric"))
    paste0("write ", of, " and numeric = \"", of, "\"")
  else if (is_bar(term))
    paste0("put parentheses around it, (", shown, ")")
  else if (is.numeric(term) || head == "-" && is.numeric(term[[length(term)]]))
    "the model always has a mean"
  else if (head == "-")
    "after a minus, name the column to exclude"
  else if (head == "offset")
    "subtract it from the responses"
  else if (is.character(term))
    paste0("write ", term, " without quotes")
  else if (head %in% c("$", "[["))
    paste0("write ", as.character(term[[3]]), ", the name of a column of the data")
  else paste0("add a column with data$x <- ", shown)
}

# What a smooth term is of: te(age, bmi, k = 5) of age and bmi.
smoothed <- function(term) {
  args <- as.list(term)[-1]
  given <- if (is.null(names(args))) args else args[!nzchar(names(args))]
  found <- unique(unlist(lapply(given, all.vars)))
  if (length(found)) found else "age"
}
