# Simulates a small cohort.
#
#   y_ij = 2.5 + a_j (age - 50)/30 + b_j ((age - 50)/30)^2 + 0.1 (sex) + site_j + shared_i + noise

kronorm_example <- function(participants = 120, regions = 24, sites = c("Bergen", "Oslo", "Rome"), patients = 0,
                            visits = 1, seed = 1) {
  check_count(participants, "participants", 1)
  check_count(regions, "regions", 1)
  check_count(patients, "patients", 0)
  check_count(visits, "visits", 1)
  check_count(seed, "seed", 0)
  if (!is.character(sites) || length(sites) == 0 || anyNA(sites) || !all(nzchar(sites)))
    refuse("sites is ", describe(sites), ", expected names of sites")
  sites <- enc2utf8(sites)
  if (!all(validUTF8(sites)))
    refuse("sites has invalid characters, expected names of sites")
  if (exists(".Random.seed", globalenv(), inherits = FALSE)) {
    before <- get(".Random.seed", globalenv())
    on.exit(assign(".Random.seed", before, globalenv()))
  } else {
    on.exit(rm(list = ".Random.seed", envir = globalenv()))
  }
  begin <- function(seed) set.seed(seed, kind = "Mersenne-Twister", normal.kind = "Inversion")
  begin(11) # effects of regions and sites are always the same; the seed is of the participants
  slopes <- stats::runif(regions, -0.4, 0)
  bends <- stats::runif(regions, -0.15, 0.05)
  offsets <- matrix(vapply(sites, function(site) {
    letters <- utf8ToInt(site)
    begin(sum(letters * seq_along(letters)) %% 1e9)
    stats::rnorm(regions, sd = 0.15)
  }, numeric(regions)), regions)
  begin(seed)
  n <- participants + patients
  first <- data.frame(participant_id = sprintf("sub-%03d", seq_len(n)), age = round(stats::runif(n, 20, 80), 1),
                      sex = sample(c("F", "M"), n, TRUE), site = rep_len(sites, n),
                      group = rep(c("control", "patient"), c(participants, patients)))
  shared <- stats::rnorm(n, sd = 0.08)
  data <- first[rep(seq_len(n), each = visits), ]
  if (visits > 1) {
    data$visit <- rep(seq_len(visits), n)
    data$age <- data$age + 2 * (data$visit - 1)
  }
  x <- (data$age - 50) / 30
  Y <- 2.5 + outer(x, slopes) + outer(x^2, bends) + 0.1 * (data$sex == "M") +
    t(offsets)[match(data$site, sites), , drop = FALSE] + rep(shared, each = visits) +
    stats::rnorm(nrow(data) * regions, sd = 0.12)
  ill <- data$group == "patient"
  lower <- seq_len(ceiling(regions / 3)) # patients have a loss in the first regions, larger at each visit
  Y[ill, lower] <- Y[ill, lower] - 0.25 * if (visits > 1) data$visit[ill] else 1
  dimnames(Y) <- list(NULL, sprintf("region_%02d", seq_len(regions)))
  row.names(data) <- NULL
  list(data = data, responses = Y)
}

check_count <- function(x, name, least)
  if (!is.numeric(x) || length(x) != 1 || is.na(x) || x < least || x > 1e7 || x != round(x))
    refuse(name, " is ", describe(x), ", expected a whole number, ", least, " or more")
