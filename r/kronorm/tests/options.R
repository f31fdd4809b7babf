# Options by their keys.
source("helper.R")

text <- kronorm:::option_text
stopifnot(identical(text("k", c("a", "b")), "a,b"), identical(text("k", TRUE), "yes"), identical(text("k", FALSE), "no"))
stopifnot(identical(text("k", 1e6), "1000000"), identical(text("k", 0.05), "0.05"), identical(text("k", 1 / 3), "0.33333333333333331"))
stopifnot(identical(text("k", Inf), "inf"), identical(text("k", 5L), "5"), identical(text("k", c(sex = "F", age = "50")), "sex=F,age=50"))
stopifnot(identical(text("k", list(sex = "F")), "sex=F"), identical(text("k", factor("b")), "b"))
stopifnot(identical(text("output", "~/scored"), path.expand("~/scored")))
stopifnot(identical(text("label", c(smoker = TRUE)), "smoker=TRUE")) # as a column of TRUE and FALSE has it
stopifnot(kronorm:::size_of("8G") == 8 * 1024^3, kronorm:::size_of("512 MiB") == 512 * 1024^2, is.na(kronorm:::size_of("8X")))

table <- kronorm_options()
stopifnot(all(c("components", "noise", "missing", "batch", "seed") %in% table$key), !any(c("covariates", "use") %in% table$key))
stopifnot(all(nzchar(table$help)), table$default[table$key == "folds"] == "10", !any(grepl("--|_[ ,;.)]", table$help)))
stopifnot(all(c("command", "key") %in% names(kronorm_options(NULL))))
stopifnot(kronorm_version() >= "0.2.0", is.character(attr(kronorm_version(), "blas")))

m <- fit_small(seed = 3, group = NULL)
stopifnot(identical(m$info$options$seed, "3"), is.null(m$info$options$group), is.null(m$info$options$threads))

# messages, and progress by a function
said <- character()
stages <- character()
withCallingHandlers(kronorm(~ age + sex + (1 | site), cohort$data, cohort$responses, threads = 1, verbose = TRUE,
                            progress = function(stage, done, total, lml) stages <<- c(stages, stage)),
                    message = function(m) { said <<- c(said, conditionMessage(m)); invokeRestart("muffleMessage") })
stopifnot(any(grepl("120 participants, 3 covariates, 24 responses", said)), length(stages) > 0)
stopifnot(identical(capture.output(fit_small(), type = "message"), character())) # silent without being asked

# rows by a condition
old <- fit_small(where = "age>=40")
stopifnot(nobs(old) == sum(small$data$age >= 40))
