# Predictions and z-scores.

predict.kronorm <- function(object, newdata, se.fit = FALSE, ..., id = NULL, threads = NULL,
                            memory = NULL, verbose = FALSE) {
  if (missing(newdata))
    refuse("newdata is missing; use zscore(object) for cross-validated z-scores of the training sample")
  given <- list(...)
  check_flag(se.fit, "se.fit")
  participants <- participants_for(object, newdata, id, given)
  ctx <- new_ctx(threads, memory)
  options <- make_options(ctx, "predict", given, list(write = c("yhat", if (se.fit) c("ys2_model", "ys2"))))
  said <- value_of(.Call(kr_predict, ctx, handle_of(object, ctx), make_data(ctx, participants), options,
                         listeners(verbose)))
  on.exit(.Call(kr_free, said))
  fit <- score_map(ctx, said, "yhat", object, participants)
  if (!se.fit)
    return(fit)
  list(fit = fit, se.fit = sqrt(score_map(ctx, said, "ys2", object, participants)),
       sd_model = sqrt(score_map(ctx, said, "ys2_model", object, participants)))
}

zscore <- function(object, ...) UseMethod("zscore")

zscore.kronorm <- function(object, newdata = NULL, responses = NULL, ..., id = NULL, threads = NULL,
                           memory = NULL, verbose = FALSE, progress = FALSE) {
  if (is.null(newdata) && is.null(responses))
    return(held_out_z(object))
  how <- list(id = id, threads = threads, memory = memory, verbose = verbose, progress = progress)
  run_score(object, newdata, responses, list(given = list(...), own = list(write = "z"), how = how),
            function(ctx, said, participants) score_map(ctx, said, "z", object, participants))
}

# A map with names of participants and responses
score_map <- function(ctx, said, name, object, participants) {
  map <- value_of(.Call(kr_scores_map, ctx, said, name))
  dimnames(map) <- list(row_labels(participants, .Call(kr_scores_ids, said)), object$responses)
  map
}

# Scores participants and hands the scores to `then`, which takes from them what it needs. ask: options that
# were given, options of R's own, and how: id, threads, memory, verbose, progress.
run_score <- function(object, newdata, responses, ask, then) {
  how <- ask$how
  if (is.null(newdata))
    refuse("newdata is missing, expected a data frame of covariates")
  participants <- participants_for(object, newdata, how$id, ask$given)
  Y <- responses_for(object, participants$data, responses, participants)
  ctx <- new_ctx(how$threads, how$memory)
  options <- make_options(ctx, "score", ask$given, ask$own)
  on.exit(end_bar(how$progress))
  said <- value_of(.Call(kr_score, ctx, handle_of(object, ctx), make_data(ctx, participants, Y), options,
                         listeners(how$verbose, how$progress)))
  on.exit(.Call(kr_free, said), add = TRUE)
  then(ctx, said, participants)
}
