# What the tests share. One promise a line: stopifnot says which was broken.
options(warn = 1)
Sys.setenv(OPENBLAS_NUM_THREADS = "1")
suppressWarnings(library(kronorm))
suppressWarnings(kronorm:::new_ctx()) # what it says of the processor, it says once

cohort <- kronorm_example()
small <- kronorm_example(40, regions = 5, sites = c("Oslo", "Rome"))
fit_small <- function(formula = ~ age + sex + (1 | site), data = small$data, responses = small$responses, ...)
  kronorm(formula, data, responses, components = 2, folds = 5, calibrate = "none", threads = 1, ...)

# The sentence of an error, which must be of a class of kronorm.
refused <- function(expr, sentence, class = "kronorm_error") {
  e <- tryCatch({ expr; NULL }, error = identity)
  if (is.null(e))
    stop("nothing was refused: ", sentence)
  if (!inherits(e, class) || !grepl(sentence, conditionMessage(e), fixed = TRUE))
    stop("expected ", class, ": ", sentence, "\n  got ", paste(class(e), collapse = " "), ": ", conditionMessage(e))
  invisible(TRUE)
}
