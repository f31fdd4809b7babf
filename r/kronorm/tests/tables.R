# Tables are those that the library writes.
source("helper.R")

cohort <- kronorm_example(patients = 15)
train <- cohort$data$group == "control" & seq_len(135) > 30
m <- kronorm(~ age + sex + (1 | site), cohort$data[train, ], cohort$responses[train, ], components = 3, threads = 1)
new <- cohort$data[!train, ]
Y <- cohort$responses[!train, ]
same <- function(a, b) isTRUE(all.equal(a, b, tolerance = 1e-12, check.attributes = FALSE))
same_columns <- function(a, b) identical(names(a), names(b)) && all(vapply(names(a), function(name)
  if (is.character(a[[name]])) identical(a[[name]], b[[name]]) else same(a[[name]], as.numeric(b[[name]])), NA))

folder <- tempfile()
scores <- suppressWarnings(score(m, new, Y, cases = c(group = "patient"), output = folder))
written <- kronorm:::read_tsv(folder, "abnormality.tsv", c("participant_id", "p_note"))
stopifnot(same_columns(scores, written))
metrics <- kronorm:::read_tsv(folder, "metrics.tsv", "response")
stopifnot(same_columns(score_responses(scores), metrics))
stopifnot(identical(suppressWarnings(score_responses(m, new, Y, cases = "group=patient")), score_responses(scores)))
counts <- summary(scores)$abnormality
stopifnot(counts$others$flagged == sum(scores$flagged[scores$label == 0]), counts$cases$flagged == sum(scores$flagged[scores$label == 1]))
summary <- kronorm:::read_json(paste(readLines(file.path(folder, "summary.json")), collapse = "\n"))
stopifnot(identical(summary(scores)$AUC, summary$AUC), summary$AUC$extreme_z_low$auc > 0.6)
z <- as.matrix(read.csv(file.path(folder, "z.csv"), row.names = 1))
stopifnot(same(z, suppressWarnings(zscore(m, new, Y))))
refused(score(m, new, Y, output = folder), "already exists; use force = TRUE", "kronorm_error_io")

# a part of it is a plain table, whose summary is its own
stopifnot(identical(class(scores[1:3, ]), "data.frame"), is.null(attr(scores[1:3, ], "summary")), inherits(scores, "kronorm_scores"))
stopifnot(inherits(summary(scores[scores$label == 1, ]), "table"))
both <- rbind(scores, scores) # has the class of the first
stopifnot(inherits(summary(both), "table"))
refused(score_responses(both), "not all rows of the result of score()", "kronorm_error_data")
stopifnot(!any(grepl("{", summary(scores)$warnings, fixed = TRUE)))
ill <- transform(new, ill = group == "patient")
stopifnot(identical(suppressWarnings(score(m, ill, Y, cases = c(ill = TRUE)))$label, scores$label))

# the middle curve is what is expected, where the law is symmetric; a person's place is their z
plain <- kronorm(~ age + sex, cohort$data[train, ], cohort$responses[train, ], components = 3, calibrate = "none", threads = 1)
curves <- suppressWarnings(centiles(plain, "age", new[1:3, ], Y[1:3, ], grid = 7, at = c(sex = "F"), centiles = c(10, 50, 90)))
stopifnot(identical(sort(unique(curves$centile)), c(10L, 50L, 90L)), nrow(curves) == 24 * 7 * 3)
middle <- curves[curves$centile == 50 & curves$response == "region_01", ]
stopifnot(all.equal(unname(predict(plain, data.frame(age = middle$age, sex = "F"))[, "region_01"]), middle$value, tolerance = 1e-5))
stopifnot(identical(unique(attr(curves, "points")$participant_id), new$participant_id[1:3]))
stopifnot(is.numeric(attr(curves, "params")$mean))
pdf(NULL)
stopifnot(identical(plot(curves, "region_02"), curves))
invisible(plot(plain, over = "age"))        # both sexes
refused(plot(curves, "nose"), "y is \"nose\", but must be the name of a response such as \"region_01\"")
refused(plot(curves[1:3]), "expected the result of centiles()")
invisible(dev.off())
knife <- suppressWarnings(centiles(plain, "age", training = cohort$data[train, ], training_responses = cohort$responses[train, ],
                                   grid = 3, at = c(sex = "F")))
stopifnot(identical(unique(knife$band), "jackknife"))

# change: two visits
visits <- kronorm_example(20, patients = 5, visits = 2, seed = 2)
visits$data$participant_id <- sub("sub", "new", visits$data$participant_id)
changes <- suppressWarnings(change(m, visits$data, visits$responses, visit = "visit", reference = c(group = "control")))
stopifnot(nrow(changes) == 25, sum(changes$reference) == 20, all(changes$interval == 2))
stopifnot(identical(dim(attr(changes, "z")), c(25L, 24L)), identical(colnames(attr(changes, "z")), colnames(visits$responses)))
stopifnot(attr(changes, "reference")$people == 20)

# the page
page <- tempfile(fileext = ".html")
stopifnot(identical(suppressWarnings(report(m, page, new, Y, cases = c(group = "patient"), title = "of R")), page))
html <- paste(readLines(page), collapse = "\n")
stopifnot(grepl("<title>of R", html, fixed = TRUE), grepl("sub-125", html, fixed = TRUE))
elsewhere <- transform(new, site = "Ulm") # options of the scoring
refused(report(m, tempfile(), elsewhere, Y), "from a site that is not in the training data")
suppressWarnings(report(m, page <- tempfile(), elsewhere, Y, unseen = "prior"))
stopifnot(file.exists(page))
refused(report(m, page), "already exists; use force = TRUE", "kronorm_error_io")
refused(report(m, tempfile(), responses = Y), "responses are given without newdata")

# JSON as lists
json <- kronorm:::read_json("{\"a\": [1, 2.5e-3, null], \"b\\\"\\u00e9\": {\"c\": [], \"d\": [{\"e\": true}, {}]}, \"f\": \"x\\ny\", \"g\": null}")
stopifnot(identical(json$a, c(1, 0.0025, NA)), identical(names(json)[2], "b\"\u00e9"), identical(json[[2]]$c, list()))
stopifnot(isTRUE(json[[2]]$d[[1]]$e), identical(json$f, "x\ny"), "g" %in% names(json))
