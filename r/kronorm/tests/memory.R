# Nothing that R may move or free is used, and nothing is left behind.
source("helper.R")

tiny <- kronorm_example(20, regions = 2, sites = "Oslo")
run <- function() {
  m <- kronorm(~ age, tiny$data, tiny$responses, components = 1, folds = 0, calibrate = "none", threads = 1, verbose = TRUE,
               progress = function(...) NULL)
  back <- unserialize(serialize(m, NULL))
  list(predict(back, tiny$data[1:3, ], se.fit = TRUE), zscore(m, tiny$data, tiny$responses),
       tryCatch(predict(m, transform(tiny$data, age = Inf)), error = conditionMessage))
}
expected <- suppressMessages(run())
gctorture2(step = 53, wait = 1)
tortured <- suppressMessages(run())
gctorture2(step = 0)
stopifnot(identical(tortured, expected))

# handles that nobody has any more are freed: 300 calls do not add up
size <- function() {
  invisible(gc())
  as.numeric(strsplit(readLines("/proc/self/statm"), " ")[[1]][2]) * 4096
}
if (file.exists("/proc/self/statm")) {
  m <- fit_small()
  work <- function(n) for (i in seq_len(n)) {
    predict(m, small$data)
    try(zscore(m, transform(small$data, site = "Ulm"), small$responses), silent = TRUE)
    predict(unserialize(serialize(m, NULL)), small$data)
  }
  work(100)
  before <- size()
  work(300)
  stopifnot(size() - before < 20e6) # each model is 20 kB and more
}
