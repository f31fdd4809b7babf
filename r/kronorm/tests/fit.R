# A model, what it expects, and z by hand.
source("helper.R")

new <- kronorm_example(30, regions = 5, sites = c("Oslo", "Rome"), seed = 2)
new$data$participant_id <- sub("sub", "new", new$data$participant_id)
m <- fit_small()
stopifnot(inherits(m, "kronorm"), nobs(m) == 40, is.finite(logLik(m)), formula(m) == ~ age + sex + (1 | site))
stopifnot(identical(capture.output(print(m))[2], "40 participants, 3 covariates, 5 responses, 2 components"))
stopifnot(any(grepl("^signal: ", capture.output(print(summary(m))))))

# names of participants and responses
p <- predict(m, new$data, se.fit = TRUE)
names_are <- list(new$data$participant_id, colnames(new$responses))
stopifnot(identical(dimnames(p$fit), names_are), identical(dimnames(p$se.fit), names_are))
stopifnot(identical(predict(m, new$data), p$fit))
stopifnot(p$sd_model > 0, p$sd_model < p$se.fit)
z <- zscore(m, new$data, new$responses)
stopifnot(identical(dimnames(z), names_are))

# z by hand, as there is no calibration; maps are single precision
stopifnot(all.equal(z, (new$responses - p$fit) / p$se.fit, tolerance = 1e-5, check.attributes = FALSE))

# held-out z of training, and what a training id gets
held <- zscore(m)
stopifnot(identical(rownames(held), small$data$participant_id), identical(colnames(held), colnames(small$responses)))
stopifnot(identical(zscore(m, small$data, small$responses), held))
stopifnot(!isTRUE(all.equal(zscore(m, small$data, small$responses, training_rows = "plain"), held)))

# without ids rows have the names of the data, and z are there after a file too
nameless <- small$data[-1]
bare <- fit_small(data = nameless)
stopifnot(identical(rownames(zscore(bare)), as.character(1:40)), identical(dim(zscore(bare)), dim(held)))
file <- tempfile()
saveRDS(bare, file)
stopifnot(identical(zscore(readRDS(file)), zscore(bare)))
stopifnot(identical(rownames(predict(bare, nameless[c(7, 3), ])), c("7", "3")))
row.names(nameless) <- small$data$participant_id
stopifnot(identical(fit_small(data = nameless)$bytes, m$bytes)) # row names that are texts are ids
stopifnot(identical(fit_small(data = small$data[-1], id = small$data$participant_id)$bytes, m$bytes))

# types of responses: doubles, integers, data frames, one column, none of a name
whole <- round(1000 * small$responses)
stopifnot(identical(fit_small(responses = whole)$bytes,
                    fit_small(responses = matrix(as.integer(whole), 40, dimnames = dimnames(whole)))$bytes))
stopifnot(identical(fit_small(responses = as.data.frame(small$responses))$bytes, m$bytes))
stopifnot(identical(dim(zscore(kronorm(~ age, small$data, small$responses[, 1], method = "stgpr", threads = 1))), c(40L, 1L)))
stopifnot(is.null(colnames(zscore(fit_small(responses = unname(small$responses))))))

# rows of responses by the ids that they have, in any order
mixed <- small$responses[40:1, ]
rownames(mixed) <- small$data$participant_id[40:1]
stopifnot(identical(fit_small(responses = mixed)$bytes, m$bytes))
frame <- data.frame(participant_id = rownames(mixed), mixed)
stopifnot(identical(fit_small(responses = frame)$bytes, m$bytes))

# a column that is named as that of the ids is one of ids on both sides, and no response
coded <- small$data
names(coded)[1] <- "code"
coded$code <- 40:1
by_code <- data.frame(code = coded$code, small$responses)[40:1, ]
stopifnot(identical(fit_small(data = coded, responses = by_code, id = "code")$bytes,
                    fit_small(data = coded, responses = small$responses, id = "code")$bytes))
stopifnot(identical(dim(zscore(m, coded, by_code, id = "code")), c(40L, 5L)))

# names of rows that are those of the data are numbers of rows, even where they look like ids
numbered <- cbind(small$data, small$responses)
numbered$participant_id <- 40:1
numbered <- numbered[order(numbered$age), ]
stopifnot(identical(zscore(fit_small(data = numbered, responses = as.matrix(numbered[colnames(small$responses)]))),
                    zscore(fit_small(data = numbered, responses = numbered[colnames(small$responses)]))))

# factors, logicals and texts
f <- small$data
f$sex <- factor(f$sex, levels = c("M", "F", "X"))
stopifnot(identical(fit_small(data = f)$bytes, m$bytes))
f$sex <- f$sex == "M"
stopifnot(identical(fit_small(data = f)$info$recipe$columns[[2]]$levels, c("FALSE", "TRUE")))

# scale() makes a matrix of one column
f <- small$data
f$age <- f$age - 50
centred <- fit_small(data = f)$bytes
f$age <- matrix(f$age, 40, dimnames = list(NULL, "age"))
stopifnot(identical(fit_small(data = f)$bytes, centred))

# NA: of responses it is filled in, of covariates refused, or the row leaves
holes <- small$responses
holes[cbind(1:8, rep(1:4, 2))] <- NA
with_holes <- suppressWarnings(fit_small(responses = holes))
stopifnot(all(is.na(suppressWarnings(zscore(with_holes))[cbind(1:8, rep(1:4, 2))])))
f <- small$data
f$age[3] <- NA
refused(fit_small(data = f), "row 3: age is NA, a missing value; use missing = \"drop\" to exclude such participants", "kronorm_error_data")
g <- small$data
g$site[5] <- NA
refused(fit_small(data = g), "row 5: site is NA, a missing value", "kronorm_error_data")
dropped <- suppressWarnings(fit_small(data = f, missing = "drop"))
stopifnot(nobs(dropped) == 39, !"sub-003" %in% rownames(zscore(dropped)))
stopifnot(nrow(suppressWarnings(predict(m, f[1:5, ], missing = "drop"))) == 4)
g <- f[-1]
stopifnot(identical(rownames(suppressWarnings(predict(m, g[1:5, ], missing = "drop"))), c("1", "2", "4", "5")))

# whoever leaves takes the name of the row along, and where nobody knows who left there are none
g$sex[5] <- ""
left <- suppressWarnings(fit_small(data = g, missing = "drop"))
stopifnot(identical(rownames(zscore(left)), as.character(setdiff(1:40, c(3, 5)))))
stopifnot(identical(zscore(left)["4", ], zscore(suppressWarnings(fit_small(data = g[-c(3, 5), ],
                                                                           responses = small$responses[-c(3, 5), ])))["4", ]))
silent <- small$responses
silent[7, ] <- NA
left <- suppressWarnings(fit_small(data = small$data[-1], responses = silent))
stopifnot(identical(rownames(zscore(left)), as.character(setdiff(1:40, 7))))
filled <- suppressWarnings(fit_small(data = f[-1], responses = silent, missing = "mean")) # row 3 stays
stopifnot(identical(rownames(zscore(filled)), as.character(setdiff(1:40, 7))))
stopifnot(is.null(rownames(zscore(fit_small(data = small$data[-1], where = "age>=30")))))

# threads do not matter
stopifnot(identical(kronorm(~ age + sex + (1 | site), small$data, small$responses, components = 2, folds = 5,
                            calibrate = "none", threads = 2, memory = "1G")$bytes, m$bytes))
