# A model for sites that its training did not have.

adapt <- function(object, ...) UseMethod("adapt")

adapt.kronorm <- function(object, newdata, responses = NULL, ..., id = NULL, threads = NULL, memory = NULL,
                          verbose = FALSE) {
  given <- list(...)
  participants <- participants_for(object, newdata, id, given)
  Y <- responses_for(object, participants$data, responses, participants)
  ctx <- new_ctx(threads, memory)
  options <- make_options(ctx, "adapt", given)
  handle <- value_of(.Call(kr_adapt, ctx, handle_of(object, ctx), make_data(ctx, participants, Y), options,
                           listeners(verbose)))
  adapted <- as_model(handle, ctx, formula = object$formula, call = object$call, lhs = object$lhs)
  adapted$held_out <- object$held_out # of training, which is the same
  adapted
}
