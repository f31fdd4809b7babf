# How abnormal each person is: the tables that the command writes.

COLUMNS <- c("in_training", "extreme_z", "extreme_z_p", "deviance", "deviance_p", "deviance_noise",
            "deviance_noise_p", "extrapolation", "extrapolation_pct", "mean_z", "mean_z_p", "n_low",
            "n_low_p", "n_high", "n_high_p", "extreme_z_low", "extreme_z_high", "n_low_fdr",
            "n_high_fdr", "n_responses", "p_note", "site_adapted", "unseen_level", "implausible", "flagged", "label")
METRICS <- c("R2", "rho", "rho2", "RMSE", "SMSE", "EXPV", "MSLL", "gain", "z2")

score <- function(object, ...) UseMethod("score")

score.kronorm <- function(object, newdata, responses = NULL, ..., id = NULL, threads = NULL, memory = NULL,
                          verbose = FALSE, progress = interactive()) {
  how <- list(id = id, threads = threads, memory = memory, verbose = verbose, progress = progress)
  run_score(object, newdata, responses, list(given = list(...), own = list(write = "z"), how = how),
            function(ctx, said, participants) {
    columns <- .Call(kr_scores_participants, said, COLUMNS)
    columns$p_note <- c("bound", "rough", "missing")[match(columns$p_note, 1:3)]
    ids <- row_labels(participants, .Call(kr_scores_ids, said))
    table <- data.frame(participant_id = ids, columns[!vapply(columns, is.null, NA)],
                        stringsAsFactors = FALSE)
    summary <- read_json(.Call(kr_scores_json, said))
    summary$warnings <- vapply(summary$warnings, spell, "", USE.NAMES = FALSE)
    structure(table, summary = summary,
              metrics = metrics_of(object, said), class = c("kronorm_scores", "data.frame"))
  })
}

metrics_of <- function(object, said) {
  columns <- .Call(kr_scores_responses, said, METRICS)
  n <- length(columns$R2)
  data.frame(response = if (is.null(object$responses)) as.character(seq_len(n)) else object$responses,
             columns, stringsAsFactors = FALSE)
}

score_responses <- function(object, ...) UseMethod("score_responses")

score_responses.kronorm <- function(object, newdata, responses = NULL, ...)
  attr(score(object, newdata, responses, ...), "metrics")

# A subset of the participants has no summary: it is a plain data frame.
`[.kronorm_scores` <- function(x, ...) {
  class(x) <- "data.frame"
  attr(x, "summary") <- attr(x, "metrics") <- NULL
  x[...]
}

# rbind() leaves the class of its first table, and what was said of that one alone.
is_whole <- function(scores) identical(as.numeric(attr(scores, "summary")$counts$participants), as.numeric(nrow(scores)))

score_responses.kronorm_scores <- function(object, ...) {
  if (!is_whole(object))
    refuse("these are not all rows of the result of score(), but metrics need all of them", kind = "data")
  attr(object, "metrics")
}

print.kronorm_scores <- function(x, ...) {
  print(structure(x, class = "data.frame", summary = NULL, metrics = NULL), ...)
  invisible(x)
}

summary.kronorm_scores <- function(object, ...)
  if (is_whole(object)) attr(object, "summary") else summary(object[seq_len(nrow(object)), ], ...)
