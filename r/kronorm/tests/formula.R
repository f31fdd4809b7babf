# What a formula says, and what it may not say.
source("helper.R")

read <- kronorm:::read_formula
said <- read(cbind(a, b) ~ age + (sex) + (1 | site) + (1 + bmi | scanner) + site:age)
stopifnot(identical(said$lhs, quote(cbind(a, b))), !said$all)
stopifnot(identical(said$covariates, c("age", "sex", "site", "scanner")), identical(said$batch, c("site", "scanner")))
stopifnot(identical(said$interaction, list(c("scanner", "bmi"), c("site", "age"))))
stopifnot(identical(read(~ . - weight)[c("all", "drop")], list(all = TRUE, drop = "weight")))
stopifnot(identical(read(~ 1 + `body mass`)$covariates, "body mass"))

terms <- function(formula, sentence) refused(read(formula), sentence, "kronorm_error_argument")
terms(~ I(age^2), "write age, effects are always smooth")
terms(~ s(age) + sex, "s(age) is not supported: write age")
terms(~ poly(age, 2), "write age")
terms(~ (age + sex)^2, "write age + sex + age:sex")
stopifnot(identical(read(~ age * site), read(~ age + site + age:site)))
terms(~ factor(sex), "categorical = \"sex\"")
terms(~ log(age), "data$x <- log(age)")
terms(~ age + 1 | site, "put parentheses around it")
terms(~ age - 1, "the model always has a mean")
terms(~ 0 + age, "the model always has a mean")
terms(~ offset(age), "subtract it from the responses")
terms(~ age:sex:site, "one category and one number")
terms(~ (1 | site / scanner), "(1 | site) + (1 | scanner)")
terms(~ (0 + age | site), "expected (1 | site), or (age | site)")
terms(~ (age || site), "expected (1 | site), or (age | site)")
terms(~ 1, "the formula has no covariate")
terms(~ stats::poly(age, 2), "write age, effects are always smooth")
terms(~ te(age, bmi, k = 5), "write age + bmi, effects are always smooth")
terms(~ s(age, by = sex), "write age + sex + sex:age")
terms(~ s(site, bs = "re"), "write (1 | site)")
terms(~ re(random = ~ 1 | site), "write (1 | site)")
terms(~ . - (1 | site), "after a minus, name the column")
terms(~ "age", "write age without quotes")
terms(~ d$age, "write age, the name of a column")

# terms are read from left to right
stopifnot(identical(read(~ . - site + (1 | site))[c("drop", "batch")], list(drop = character(), batch = "site")))
stopifnot(identical(read(~ age + sex - sex)$covariates, "age"))
stopifnot(identical(read(~ age + (1 | site) - site)$covariates, c("age", "site")))
refused(kronorm("age", small$data, small$responses), "expected a formula such as")
refused(kronorm(~ agee, small$data, small$responses), "the data have no column 'agee'", "kronorm_error_data")

# update() as of other models
m <- kronorm(~ age + sex + (1 | site), small$data, small$responses, components = 2, folds = 0, calibrate = "none", threads = 1)
stopifnot(formula(update(m, . ~ . - sex)) == ~ age + (1 | site), update(m, components = 1)$info$n_components == 1)

# the options that come of it
options_of <- function(...) fit_small(...)$info$options
stopifnot(identical(options_of(~ age + (1 | site))[c("use", "batch")], list(use = "age,site", batch = "site")))
stopifnot(is.null(options_of(~ age + site)$batch)) # auto: it is called site
stopifnot(identical(options_of(~ age + sex + site + age:sex)$interaction, "sex:age"))
stopifnot(identical(options_of(~ age + sex + (age | site))$interaction, "site:age"))
refused(fit_small(~ age + (bmi | site), cbind(small$data, bmi = 1)), "needs both as terms")
refused(fit_small(~ age:site), "age:site needs both as terms, write age + site + age:site")
refused(fit_small(~ sex * site), "sex:site has two categories, expected one category and one number", "kronorm_error_data")
refused(fit_small(~ age + participant_id), "participant_id is the column of ids, not a covariate", "kronorm_error_data")
refused(fit_small(~ age + age:site), "age:site needs both as terms, write site + age:site")
refused(fit_small(~ age + (1 | site), batch = "site"), "the formula says it already")
refused(fit_small(use = "age"), "use is not an option in R: the formula says")

# left side and columns of the data are the same as a matrix
both <- cbind(small$data, small$responses)
m <- fit_small()
left <- kronorm(cbind(region_01, region_02, region_03, region_04, region_05) ~ age + sex + (1 | site), both,
                components = 2, folds = 5, calibrate = "none", threads = 1)
stopifnot(identical(left$bytes, m$bytes))
stopifnot(identical(fit_small(data = both, responses = colnames(small$responses))$bytes, m$bytes))
Y <- small$responses
stopifnot(identical(kronorm(Y ~ age + sex + (1 | site), small$data, components = 2, folds = 5, calibrate = "none",
                            threads = 1)$bytes, m$bytes))
stopifnot(identical(zscore(left, both), zscore(m)))   # by the left side
stopifnot(identical(zscore(m, both), zscore(m)))      # by the names of the model
refused(zscore(m, small$data), "responses are missing")
refused(kronorm(Y ~ age, small$data, Y), "responses are given twice")
refused(kronorm(~ age, small$data), "responses are missing")
refused(kronorm(nowhere ~ age, small$data), "left side of the formula")

# . is all columns but ids and those that tell patients
all <- fit_small(~ .)
stopifnot(identical(vapply(all$info$recipe$columns, function(c) c$name, ""), c("age", "sex", "site")))
stopifnot(identical(fit_small(~ ., both, small$responses)$bytes, all$bytes)) # responses that are columns too teach nothing
less <- fit_small(~ . - sex)
stopifnot(identical(vapply(less$info$recipe$columns, function(c) c$name, ""), c("age", "site")))

# participants with several rows: ids or a column
visits <- kronorm_example(25, regions = 5, sites = "Oslo", visits = 2)
twice <- fit_small(~ age + sex + (1 | participant_id), visits$data, visits$responses)
stopifnot(identical(twice$bytes, fit_small(~ age + sex, visits$data, visits$responses)$bytes))
stopifnot(identical(fit_small(~ age + sex, visits$data, visits$responses, group = "participant_id")$info$lml, twice$info$lml))
stopifnot(nobs(fit_small(where = "participant_id!=sub-003")) == 39)
visits$data$family <- visits$data$participant_id
visits$data$participant_id <- NULL
refused(fit_small(~ age + (1 | family), visits$data, visits$responses), "group = \"family\"", "kronorm_error_data")
stopifnot(nobs(fit_small(~ age + sex, visits$data, visits$responses, group = "family")) == 50)
refused(fit_small(~ age + (1 | participant_id)), "every participant has one row", "kronorm_error_data")

# numbers that are categories
coded <- small$data
coded$code <- as.numeric(factor(coded$sex)) * 10
kinds <- function(...) vapply(fit_small(~ age + code, coded, ...)$info$recipe$columns, function(c) c$kind, "")
stopifnot(identical(kinds(), c("numeric", "categorical")), identical(kinds(numeric = "code"), c("numeric", "numeric")))

# a category in numbers may stand behind the number
coded$male <- as.numeric(coded$sex == "M")
coded$scanner <- rep(1:4, 10)
stopifnot(identical(fit_small(~ age * male, coded)$bytes, fit_small(~ age + male + male:age, coded)$bytes))
stopifnot(identical(fit_small(~ age * scanner, coded)$info$options$interaction, "scanner:age"))
