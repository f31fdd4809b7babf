# Wrong input is an error with a sentence, and the session goes on.
source("helper.R")

m <- fit_small()
d <- small$data
Y <- small$responses

# shapes
refused(fit_small(responses = Y[1:39, ]), "data have 40 rows, responses 39", "kronorm_error_shape")
refused(fit_small(responses = Y[, 0]), "responses have no columns", "kronorm_error_shape")
refused(fit_small(data = d[0, ]), "data has no rows", "kronorm_error_shape")
refused(fit_small(responses = as.data.frame(Y)[0, ]), "data have 40 rows, responses 0", "kronorm_error_shape")
refused(fit_small(responses = NA), "data have 40 rows, responses 1", "kronorm_error_shape")
refused(zscore(m, d, Y[, 1:4]), "region_05", "kronorm_error")
refused(zscore(m, d, unname(Y)[, 1:4]), "4", "kronorm_error")
refused(fit_small(id = c("a", "b")), "expected the name of a column, or an id for each of the 40 rows", "kronorm_error_shape")

# types
refused(fit_small(data = as.list(d)), "data is list, expected a data frame")
refused(fit_small(data = NULL), "data is NULL, expected a data frame")
refused(fit_small(responses = as.character(1:40)), "the data have no column '1'")
refused(fit_small(responses = matrix("a", 40, 2)), "a matrix of character, expected a numeric matrix")
refused(fit_small(responses = list(1, 2)), "responses are list")
refused(fit_small(responses = data.frame(a = rep("x", 40))), "column 'a' is character, expected numbers")
refused(fit_small(responses = function(x) x), "responses are function")
refused(fit_small(responses = data.frame(a = Y[, 1], b = I(Y[, 2:3]))), "column 'b' is a matrix of double, expected numbers")
large <- structure(as.numeric(1:40), class = "integer64") # its bits are not those of doubles
with_large <- d
with_large$large <- large
refused(fit_small(~ large, with_large), "column 'large' is integer64, expected numbers")
refused(fit_small(responses = with_large["large"]), "column 'large' is integer64, expected numbers")
refused(fit_small(~ when, transform(d, when = as.Date("2020-01-01") + 1:40)), "column 'when' is Date, expected numbers")
refused(fit_small(~ list, cbind(d, list = I(as.list(1:40)))), "column 'list' is", "kronorm_error_data")

# values
refused(fit_small(data = transform(d, age = c(Inf, age[-1]))), "but must be a finite number, or NA if it is missing",
        "kronorm_error_data")
refused(fit_small(data = transform(d, participant_id = c(NA, participant_id[-1]))), "data row 1: the id is missing")
refused(fit_small(responses = Y * NA), "", "kronorm_error_data")
refused(fit_small(data = transform(d, age = 50), formula = ~ age), "", "kronorm_error")
refused(fit_small(data = cbind(d, age = 1)), "two columns are named 'age'")
refused(fit_small(~ ., setNames(d, c("participant_id", NA, "sex", "site", "group"))), "a column without a name", "kronorm_error_data")
refused(fit_small(responses = cbind(a = Y[, 1], a = Y[, 2])), "two columns are named 'a'")
refused(fit_small(data = cbind(d, Y), responses = c("region_01", "region_01")), "column 'region_01' is named twice")
refused(fit_small(id = "nobody"), "data has no column 'nobody'")
refused(predict(m, d[c("age", "sex")]), "newdata has no column 'site'", "kronorm_error_data")
refused(predict(m, transform(d, sex = "X")), "sex", "kronorm_error_data")
refused(predict(m, transform(d, site = "Ulm")), "use adapt() with at least 5 healthy controls from there, or unseen = \"prior\"",
        "kronorm_error_data")
stopifnot(all(is.finite(suppressWarnings(predict(m, transform(d, site = "Ulm"), unseen = "prior")))))
refused(predict(m, transform(d, age = paste(age, "years"))), "age", "kronorm_error_data")
refused(fit_small(responses = `rownames<-`(Y, c("else", d$participant_id[-1]))), "participants are not in the responses (sub-001)")
refused(fit_small(responses = `rownames<-`(Y, d$participant_id)[c(1, 1:39), ]), "participants are not in the responses (sub-040)")

# rows of which both sides know the names, in two orders
named <- Y
rownames(named) <- 1:40
by_age <- d[order(d$age), -1]
refused(fit_small(data = by_age, responses = named), "in another order: put them in the same order", "kronorm_error_data")
refused(zscore(m, by_age, named), "in another order", "kronorm_error_data")
refused(fit_small(data = by_age, responses = as.data.frame(Y)[40:1, ]), "in another order", "kronorm_error_data")
stopifnot(identical(fit_small(data = by_age, responses = named[row.names(by_age), ])$bytes,
                    fit_small(data = by_age, responses = Y[order(d$age), ])$bytes))

# options
refused(fit_small(missing = "foo"), "missing is 'foo', but must be error|drop|mean", "kronorm_error_argument")
refused(fit_small(wibble = 1), "wibble", "kronorm_error_argument")
refused(fit_small(seed = NA), "seed is logical with NA")
refused(fit_small(seed = character()), "seed is empty")
refused(fit_small(seed = sin), "seed is function")
refused(kronorm(~ age, d, Y, folds = 1), "folds is 1; it must be 0 or at least 2", "kronorm_error_argument")
refused(kronorm(~ age, d, Y, 5), "an argument in ... has no name")
refused(kronorm(~ age, d, Y, seed = 1, seed = 2), "seed is given twice")
refused(kronorm(~ age, d, Y, threads = "many"), "threads is not a number")
refused(kronorm(~ age, d, Y, threads = -1), "threads is not a number")
refused(kronorm(~ age, d, Y, threads = 1.5), "threads is not a number")
refused(kronorm(~ age, d, Y, verbose = 1), "verbose is numeric, expected TRUE or FALSE")
refused(kronorm(~ age, d, Y, progress = "bar"), "progress is character, expected TRUE, FALSE or a function")
refused(predict(m, d, se.fit = 1), "se.fit is numeric, expected TRUE or FALSE")
refused(write_kronorm(m, tempfile(), force = NA), "force is logical, expected TRUE or FALSE")
refused(fit_small(seed = globalenv()), "seed is environment")
refused(kronorm(~ age, d, Y, subset = d$age > 40), "give the rows and columns of a data frame")
refused(kronorm(~ age, d, Y, subset = age > 40), "give the rows and columns of a data frame")
refused(kronorm(~ age, d, Y, family = gaussian()), "unknown option 'family' of fit", "kronorm_error_argument")
refused(predict(m, d, re.form = NA), "unknown option 're.form' of predict", "kronorm_error_argument")
refused(score(m, d, Y, label = d$sex == "M"), "cases has 40 values, expected one: name a column of the data")
refused(fit_small(~ age + code, transform(d, code = as.character(age))), "or omit it from the formula", "kronorm_error_data")
refused(kronorm(~ age, d, Y, na.action = na.omit), "write missing = \"drop\"")
refused(kronorm_options(character()), "command must be a name")
refused(centiles(m, "age", responses = Y), "responses are given without newdata")
refused(centiles(m, "age", training_responses = Y), "responses are given without training")
refused(centiles(m, "age", output = "folder"), "results come as data frames")
for (wrong in list(0, -1, 1.5, NA, "a", NULL, 1:2, sin))
  refused(kronorm_example(participants = wrong), "participants is")
refused(kronorm_example(sites = character()), "sites is character, expected names of sites")
stopifnot(identical(kronorm_example(9, sites = iconv("Malm\u00f6", "UTF-8", "latin1")), kronorm_example(9, sites = "Malm\u00f6")))
refused(kronorm_example(sites = `Encoding<-`("\xff\xfe", "UTF-8")), "sites has invalid characters")

# what a model does not have
refused(coef(m), "no coefficients")
refused(fitted(m), "no fitted values")
refused(residuals(m), "no residuals")
refused(kronorm(~ age, d, Y, memory = "lots"), "memory is not a size")
refused(kronorm(~ age, d, Y, covariates = "people.csv"), "give the rows and columns of a data frame")
refused(zscore(m, d, Y, write = "z"), "results come as matrices")
refused(predict(m), "newdata is missing")
refused(score(m, d, Y, cases = "group=martian"), "martian", "kronorm_error")
refused(kronorm_options("dance"), "there is no command 'dance'")
refused(centiles(m, "weight"), "the model has no covariate 'weight'", "kronorm_error_argument")
refused(change(m, d, Y), "visit is missing")

# things that are no models
refused(predict(structure(list(), class = "kronorm"), d), "expected a model of kronorm()")
refused(predict(structure(1, class = "kronorm"), d), "expected a model of kronorm()")
foreign <- m
foreign$handle <- unclass(getLoadedDLLs()[["stats"]])$handle
refused(predict(foreign, d), "expected a kronorm model, this is something else", "error")
other <- m
other$handle <- .Call(kronorm:::kr_new_ctx, 1L, 0)
refused(predict(other, d), "expected a kronorm model, this is something else", "error")
other$handle <- NULL
refused(predict(other, d), "expected a model of kronorm()")
for (part in list(list(info = 1), list(info = list()), list(responses = "a"), list(responses = sin), list(held_out = 1))) {
  edited <- m
  edited[names(part)] <- part
  for (use in list(print, summary, zscore, nobs, formula, function(m) predict(m, d)))
    refused(use(edited), "expected a model of kronorm()")
}
call <- function(...) .Call(...) # the glue itself
ctx <- call(kronorm:::kr_new_ctx, 1L, 0)
for (wrong in list(NULL, 1, "a", sin, ctx, foreign$handle)) {
  refused(call(kronorm:::kr_scores_ids, wrong), "expected a kronorm scores", "error")
  refused(call(kronorm:::kr_model_json, ctx, wrong), "expected a kronorm model", "error")
  refused(call(kronorm:::kr_fit, ctx, wrong, wrong, NULL), "expected a kronorm data", "error")
}
for (wrong in list(list(1:3), list("a"), list(a = NULL), 1, NULL))
  refused(call(kronorm:::kr_data, ctx, 3, wrong, NULL, NULL), "", "error")
refused(call(kronorm:::kr_data, ctx, 3, list(a = c(1, 2, 3)), 1:3, NULL), "ids", "error")
refused(call(kronorm:::kr_data, ctx, 3, list(a = c(1, 2, 3)), NULL, 1:3), "responses", "error")
refused(call(kronorm:::kr_data, ctx, 3, list(c(1, 2, 3)), NULL, NULL), "", "error") # no names
call(kronorm:::kr_free, ctx)
call(kronorm:::kr_free, ctx)
refused(call(kronorm:::kr_model_json, ctx, m$handle), "was freed, or is of another session", "error")

# what listens to a call takes nothing away from it
told <- 0
listens <- function(...) {
  told <<- told + 1
  call(kronorm:::kr_free, m$handle)
  stopifnot(call(kronorm:::kr_alive, m$handle))
}
invisible(zscore(m, d, Y, training_rows = "plain", progress = listens))
stopifnot(told > 0)

# a freed model comes back from its bytes
call(kronorm:::kr_free, m$handle)
stopifnot(all(is.finite(predict(m, d))))

# what the library marks as options is spelled as R does
spell <- kronorm:::spell
stopifnot(identical(spell("use {missing=drop} or {folds=0}"), "use missing = \"drop\" or folds = 0"))
stopifnot(identical(spell("{force}; {over}: no; 'kronorm adapt'"), "force = TRUE; over: no; adapt()"))
stopifnot(identical(spell("1 ID is not in b.txt: s2; use {match=common} to use only the IDs that are in both"),
                    "1 ID is not in b.txt: s2; omit the IDs that are not in both"),
          identical(spell("a is empty; use {match=common} to keep the IDs in all tables"), "a is empty; omit the IDs that are not in all tables"),
          identical(spell("exclude it with {where} or {match=common}"), "exclude it with where"))

# a warning of the library is one of R, and one that is an error leaves nothing behind
f <- d
f$age[3] <- NA
w <- tryCatch(fit_small(data = f, missing = "drop"), warning = identity)
stopifnot(inherits(w, "warning"))
old <- options(warn = 2)
stopifnot(inherits(try(fit_small(data = f, missing = "drop"), silent = TRUE), "try-error"))
options(old)
stopifnot(nobs(fit_small()) == 40)
