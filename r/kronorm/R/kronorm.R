# The fit.

kronorm <- function(formula, data, responses = NULL, ..., id = NULL, threads = NULL, memory = NULL,
                    verbose = FALSE, progress = interactive()) {
  call <- match.call()
  formula <- without_dot(formula)
  said <- read_formula(formula)
  # before subset = age > 40 is looked at, which knows no age here
  refuse_keys(names(match.call(expand.dots = FALSE)$...), "fit")
  given <- list(...)
  if (missing(data))
    refuse("data is missing, expected a data frame of covariates")
  data <- as_participants(data)
  if (!is.null(said$lhs) && !is.null(responses))
    refuse("responses are given twice, on the left side of the formula and as an argument")
  if (is.null(said$lhs) && is.null(responses))
    refuse("responses are missing: give them as an argument, or on the left side of the formula")
  found <- find_ids(data, id)
  said <- settle(said, data, found, given)
  taken <- c(found$column, if (!is.null(said$lhs)) all.vars(said$lhs),
             if (is.character(responses)) responses else colnames(responses))
  columns <- if (said$all) setdiff(names(data), c(taken, said$drop)) else said$covariates
  participants <- list(data = data, ids = found$ids, id = found$column, columns = unique(c(columns, mentioned(data, given))))
  Y <- if (is.null(said$lhs)) responses else left_side(said$lhs, data, environment(formula))
  Y <- as_responses(Y, participants)
  ctx <- new_ctx(threads, memory)
  options <- make_options(ctx, "fit", given, fit_options(said, given))
  on.exit(end_bar(progress))
  handle <- value_of(.Call(kr_fit, ctx, make_data(ctx, participants, Y), options,
                           listeners(verbose, progress)))
  object <- as_model(handle, ctx, formula = formula, call = call, lhs = said$lhs)
  if (stripped(object)) # do.call() writes the data themselves into the call
    object$call <- words_of(call)
  else if (is.null(participants$ids)) # the bytes of a model without ids do not have them
    object$held_out <- held_out_rows(handle, nobs(object), rows_of_training(object, data, Y))
  object
}

# A call without what is neither code nor one value, nor where its formula was written.
words_of <- function(call) {
  parts <- as.list(call)
  plain <- vapply(parts, function(x) is.language(x) || is.atomic(x) && length(x) == 1, NA)
  plain[1] <- TRUE # the function
  as.call(lapply(parts[plain], function(x) {
    if (inherits(x, "formula")) environment(x) <- globalenv()
    x
  }))
}

# As the library understood it: strip_ids = 1 says so too.
stripped <- function(object) {
  said <- info_of(object)$options[["strip_ids"]]
  !is.null(said) && !said %in% c("no", "false", "0")
}

# Names are columns of the data; (1 | id) is not a batch; a category comes first in an interaction.
settle <- function(said, data, found, given) {
  pairs <- unlist(said$interaction)
  lost <- setdiff(c(said$covariates, said$drop, pairs), names(data))
  if (length(lost))
    refuse("formula: the data have no column '", lost[1], "'", kind = "data")
  person <- intersect(said$batch, found$column)
  if (length(person)) {
    if (!anyDuplicated(found$ids))
      refuse("(1 | ", person, "): every participant has one row, expected repeated ids", kind = "data")
    said$batch <- setdiff(said$batch, person)
    said$covariates <- setdiff(said$covariates, person)
  }
  if (length(intersect(said$covariates, found$column)))
    refuse("formula: ", found$column, " is the column of ids, not a covariate; rows of a participant always share ",
           "noise", kind = "data")
  for (name in said$batch)
    check_batch(name, data[[name]])
  for (pair in said$interaction)
    if (!said$all && !all(pair %in% said$covariates))
      refuse("formula: ", paste(pair, collapse = ":"), " needs both as terms, write ",
             paste(setdiff(pair, said$covariates), collapse = " + "), " + ", paste(pair, collapse = ":"))
  commas <- grep("^\\s|\\s$|,", said$covariates, value = TRUE)
  if (length(commas))
    refuse("column '", commas[1], "': a covariate has no comma in its name, and no space at its ends", kind = "data")
  category <- function(name)
    name %in% c(said$batch, given$categorical) || !is.numeric(data[[name]])
  for (pair in said$interaction)
    if (category(pair[1]) && category(pair[2]))
      refuse("formula: ", paste(pair, collapse = ":"), " has two categories, expected one category and one number, such as site:age",
             kind = "data")
  values <- function(name) if (category(name)) 0 else length(unique(data[[name]]))
  # of two numbers the one with fewer values: 0 and 1 are a category for the library
  said$interaction <- unique(lapply(said$interaction, function(pair)
    if (values(pair[2]) < values(pair[1])) rev(pair) else pair))
  said
}

check_batch <- function(name, x) {
  levels <- length(unique(x[!is.na(x)]))
  if (levels > 2000 || levels * 5 > length(x))
    refuse("(1 | ", name, "): ", levels, " levels in ", length(x), " rows are too many for a batch, ",
           "expected at most 2000 with 5 rows each on average; for rows that share noise, such as those ",
           "of a family, write group = \"", name, "\"", kind = "data")
}

# What the formula says, as options. Of `~ .` the library chooses the columns.
fit_options <- function(said, given) {
  own <- list()
  if (!said$all)
    own$use <- said$covariates
  if (length(said$batch))
    own$batch <- said$batch
  if (length(said$interaction))
    own$interaction <- vapply(said$interaction, paste, "", collapse = ":")
  own
}
