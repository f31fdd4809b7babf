# z of the training people, each by a model that has not seen them.

held_out_z <- function(object) {
  if (!is.null(check_model(object)$held_out))
    return(named_responses(object$held_out, object))
  ctx <- new_ctx()
  z <- held_out_rows(handle_of(object, ctx), nobs(object))
  if (is.null(z))
    refuse("the model keeps no z of its training people: it has no ids, no folds, or more than 1 GB of them",
           kind = "data")
  named_responses(z, object)
}

# n samples; rows: names of the rows of data without ids, of which some may have left for want of a
# covariate: then samples are counted
held_out_rows <- function(handle, n, rows = NULL) {
  found <- .Call(kr_model_held_out, handle)
  if (is.null(found))
    return(NULL)
  ids <- .Call(kr_model_ids, handle)
  if (!is.null(ids)) rows <- ids
  rownames(found$z) <- if (length(rows) == n) rows[found$sample] else as.character(found$sample)
  found$z
}

named_responses <- function(z, object) {
  colnames(z) <- object$responses
  z
}
