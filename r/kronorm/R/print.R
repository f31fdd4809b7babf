# print and summary of a model.

print.kronorm <- function(x, ...) {
  info <- info_of(x)
  cat("Normative model (", info$method, ")", if (!is.null(x$formula)) paste0("  ", one_line(x$formula)), "\n", sep = "")
  cat(sprintf("%.0f participants, ", info$n_samples), counted(info$n_covariates, "covariate"), ", ",
      counted(info$n_responses, "response"), if (isTRUE(info$n_left_out > 0)) sprintf(" (%.0f excluded)", info$n_left_out),
      if (isTRUE(info$n_components > 0)) paste0(", ", counted(info$n_components, "component")), "\n", sep = "")
  cat("Covariates: ", paste(vapply(info$recipe$columns, covariate_words, ""), collapse = ", "), "\n", sep = "")
  for (site in info$adapted)
    cat(sprintf("Adapted to %s with %.0f controls\n", paste(site$levels, collapse = ", "), site$controls))
  if (!is.null(info$cv))
    cat(sprintf("Cross-validation: mean z^2 %.3f, R^2 %.3f, MSLL %.4f, gain %.4f, 95%% coverage %.1f%%\n", info$cv$z2,
                known(info$cv$R2), info$cv$msll, known(info$cv$gain), 100 * info$cv$coverage95))
  invisible(x)
}

# NA for a number that a model of an earlier version does not have.
known <- function(x) if (is.null(x)) NA_real_ else x

counted <- function(n, what) sprintf("%.0f %s%s", n, what, if (n == 1) "" else "s")

covariate_words <- function(c)
  paste0(c$name, if (identical(c$kind, "categorical"))
    paste0(" (", if (isTRUE(c$batch)) "batch, ", counted(length(c$levels), "level"), ")"))

summary.kronorm <- function(object, ...) {
  ctx <- new_ctx()
  words <- value_of(.Call(kr_model_words, ctx, handle_of(object, ctx)))
  structure(list(model = object, words = strsplit(words, "\n", fixed = TRUE)[[1]], info = info_of(object)),
            class = "summary.kronorm")
}

print.summary.kronorm <- function(x, ...) {
  print(x$model)
  if (!is.null(x$info$lml))
    cat(sprintf("Log likelihood %.2f, %s after %.0f evaluations\n", x$info$lml, x$info$stop, x$info$evaluations))
  writeLines(vapply(x$words, spell, "", USE.NAMES = FALSE))
  invisible(x)
}
