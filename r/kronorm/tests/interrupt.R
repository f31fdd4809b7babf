# Ctrl-C stops a fit at once, as an interrupt, and the session goes on.
source("helper.R")

set.seed(1)
long <- data.frame(age = runif(1500, 20, 80), bmi = rnorm(1500), iq = rnorm(1500))
Y <- matrix(rnorm(1500 * 400), 1500)
a_long_fit <- function(...) kronorm(~ age + bmi + iq, long, Y, method = "stgpr", plain = TRUE, threads = 1, ...)
in_a_second <- function() system(sprintf("(sleep 1; kill -INT %d) >/dev/null 2>&1 &", Sys.getpid()))

in_a_second()
caught <- tryCatch(a_long_fit(), interrupt = identity) # which would take hours
stopifnot(inherits(caught, "interrupt"), !inherits(caught, "error"))

# code that catches errors does not swallow it, and what was to be cleaned up is
cleaned <- FALSE
in_a_second()
caught <- tryCatch({
  tryCatch({ on.exit(1); a_long_fit() }, error = function(e) "an error", finally = cleaned <- TRUE)
}, interrupt = function(i) "an interrupt")
stopifnot(identical(caught, "an interrupt"), cleaned)

# a file that was to be written is not there
path <- tempfile(fileext = ".safetensors")
in_a_second()
caught <- tryCatch(a_long_fit(output = path), interrupt = identity)
stopifnot(inherits(caught, "interrupt"), length(list.files(dirname(path), basename(path))) == 0)

# so does an error in what listens to progress
caught <- tryCatch(kronorm(~ age + sex + (1 | site), cohort$data, cohort$responses, threads = 1,
                           progress = function(...) stop("enough")), error = conditionMessage)
stopifnot(identical(caught, "enough"))

# an interrupt that is held back waits
in_a_second()
finished <- FALSE
caught <- tryCatch({
  suspendInterrupts({
    end <- Sys.time() + 2
    while (Sys.time() < end) m <- fit_small()
    finished <- TRUE
  })
  Sys.sleep(5)
}, interrupt = identity)
stopifnot(inherits(caught, "interrupt"), finished, inherits(m, "kronorm"))

stopifnot(identical(fit_small()$bytes, m$bytes))
