# mgcv per region, for bench/peers:  Rscript bench/peers.R FOLDER gaussian|shash REGIONS OUT.csv
#
# Reads FOLDER/{train,test}_people.csv and FOLDER/{train,test}.csv, writes the log density of each held-out value (rows:
# participants, columns: the first REGIONS regions), and prints the seconds of fitting and predicting: by the clock, of processors.
suppressMessages(library(mgcv))

words <- commandArgs(trailingOnly = TRUE)
folder <- words[1]; family <- words[2]; regions <- as.integer(words[3])

read_people <- function(name) {
  people <- read.csv(file.path(folder, name), stringsAsFactors = TRUE)
  people$u <- (people$age - 50) / 30
  people
}
train <- read_people("train_people.csv")
test <- read_people("test_people.csv")
test$site <- factor(test$site, levels(train$site))
Y <- as.matrix(read.csv(file.path(folder, "train.csv"))[, 1 + seq_len(regions), drop = FALSE])
Y_test <- as.matrix(read.csv(file.path(folder, "test.csv"))[, 1 + seq_len(regions), drop = FALSE])

# Normal, with the variance of the fitted mean.
gaussian_density <- function(y, y_test) {
  train$y <- y
  m <- gam(y ~ s(u) + sex + s(site, bs = "re"), data = train, method = "REML")
  p <- predict(m, test, se.fit = TRUE)
  dnorm(y_test, p$fit, sqrt(p$se.fit^2 + m$sig2), log = TRUE)
}

# Log density of mgcv's shash at its own parameters, of which tau = ln sigma and phi = ln delta.
shash_log_density <- function(y, p) {
  z <- (y - p[, 1]) / exp(p[, 2] + p[, 4])
  inner <- exp(p[, 4]) * asinh(z) - p[, 3]
  -p[, 2] - log(2 * pi) / 2 + log(cosh(inner)) - log1p(z^2) / 2 - sinh(inner)^2 / 2
}

# Its log likelihood of the training sample, without the penalty of phi, must be that of the density above.
check_shash <- function(m, y, p) {
  X <- predict(m, type = "lpmatrix")
  own <- m$family$ll(y, X, coef(m), rep(1, length(y)), m$family)$l
  difference <- abs(own + sum(shash_penalty * p[, 4]^2) - sum(shash_log_density(y, p)))
  if (!(difference < 1e-6 * length(y))) stop("the density of shash is not that of mgcv: ", difference)
}
shash_penalty <- 1e-3

# Location and scale follow the covariates, skewness and tails are those of the region; parameters as if they were known.
shash_density <- function(y, y_test) {
  train$y <- y
  m <- gam(list(y ~ s(u) + sex + s(site, bs = "re"), ~ s(u) + s(site, bs = "re"), ~1, ~1), data = train,
           family = shash(phiPen = shash_penalty), method = "REML")
  p <- predict(m, type = "response")
  check_shash(m, y, p)
  shash_log_density(y_test, predict(m, test, type = "response"))
}

density_of <- if (family == "shash") shash_density else gaussian_density
began <- proc.time()
density <- sapply(seq_len(regions), function(j) density_of(Y[, j], Y_test[, j]))
took <- proc.time() - began
write.table(density, words[4], sep = ",", row.names = FALSE, col.names = FALSE)
cat(took[["elapsed"]], took[["user.self"]] + took[["sys.self"]], "\n")
