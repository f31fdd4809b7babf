# The object: the bytes of the model, which any session reads, and a handle of the model in memory.
as_model <- function(handle, ctx, formula = NULL, call = NULL, lhs = NULL) {
  if (!is.null(formula)) # what it was written in may be large, and is not needed any more
    environment(formula) <- globalenv()
  object <- structure(class = "kronorm",
                      list(handle = handle, bytes = value_of(.Call(kr_model_bytes, ctx, handle)),
                           formula = formula, call = call, lhs = lhs,
                           responses = .Call(kr_model_response_names, handle)))
  object$info <- read_json(value_of(.Call(kr_model_json, ctx, handle)))
  object
}

check_model <- function(object) {
  whole <- inherits(object, "kronorm") && is.list(object) && is.raw(object$bytes) &&
    typeof(object$handle) == "externalptr" && is.list(object$info) && is.list(object$info$recipe) &&
    is.list(object$info$recipe$columns) && is.numeric(object$info$n_samples)
  if (!whole || !fits(object$responses, object$info) || !is.null(object$held_out) && !is.matrix(object$held_out))
    refuse("object is ", class(object)[1], ", expected a model of kronorm(), adapt() or read_kronorm()")
  object
}

# Names of the responses, if they have any.
fits <- function(names, info)
  is.null(names) || is.character(names) && length(names) == info$n_responses

# Read back from a file, or in another process, the handle is empty: the bytes fill it.
handle_of <- function(object, ctx) {
  check_model(object)
  if (!.Call(kr_alive, object$handle))
    value_of(.Call(kr_model_restore, ctx, object$handle, object$bytes))
  object$handle
}

info_of <- function(object) check_model(object)$info

formula.kronorm <- function(x, ...) check_model(x)$formula

nobs.kronorm <- function(object, ...) as.integer(info_of(object)$n_samples)

logLik.kronorm <- function(object, ...) {
  info <- info_of(object)
  if (is.null(info$lml))
    refuse("this model has no likelihood")
  structure(info$lml, nobs = nobs(object), class = "logLik", df = NA_integer_)
}

write_kronorm <- function(object, path, force = FALSE) {
  check_path(path)
  check_flag(force, "force")
  ctx <- new_ctx()
  value_of(.Call(kr_model_save, ctx, handle_of(object, ctx), path.expand(path), force))
  invisible(path)
}

read_kronorm <- function(path) {
  check_path(path)
  ctx <- new_ctx()
  handle <- value_of(.Call(kr_model_open, ctx, path.expand(path)))
  as_model(handle, ctx)
}

check_path <- function(path)
  if (!is.character(path) || length(path) != 1 || is.na(path) || !nzchar(path))
    refuse("path is ", describe(path), ", expected the name of a file")
