# Cross-validated z-scores of the training sample.

held_out_z <- function(object) {
  if (!is.null(check_model(object)$held_out))
    return(named_responses(object$held_out, object))
  ctx <- new_ctx()
  z <- held_out_rows(handle_of(object, ctx), nobs(object))
  if (is.null(z))
    refuse("the model has no cross-validated z-scores: it has no ids, no folds, or they exceed 1 GB",
           kind = "data")
  named_responses(z, object)
}

# n samples; rows: their names where they have no ids, NULL: nobody knows which rows they were
held_out_rows <- function(handle, n, rows = NULL) {
  found <- .Call(kr_model_held_out, handle)
  if (is.null(found))
    return(NULL)
  ids <- .Call(kr_model_ids, handle)
  if (!is.null(ids)) rows <- ids
  if (length(rows) == n)
    rownames(found$z) <- rows[found$sample]
  found$z
}

# Names of the rows that training used. Whoever lacks a covariate, with missing = "drop", or has no response
# has left; where that is not all, an option has chosen rows: better no name than somebody else's.
rows_of_training <- function(object, data, Y) {
  n <- nobs(object)
  rows <- row.names(data)
  if (n == length(rows))
    return(rows)
  stay <- rowSums(is.finite(Y)) > 0
  if (identical(info_of(object)$options$missing, "drop"))
    for (column in info_of(object)$recipe$columns)
      stay <- stay & !is_missing(data[[column$name]])
  if (sum(stay) == n) rows[stay]
}

# What the library takes for missing: texts too.
is_missing <- function(x)
  is.na(x) | tolower(trimws(as.character(x))) %in% c("", "n/a", "na", "nan")

named_responses <- function(z, object) {
  colnames(z) <- object$responses
  z
}
