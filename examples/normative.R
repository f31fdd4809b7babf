# %% Normative modelling in R, from a cohort to a page
#
#     Rscript examples/normative.R [FOLDER]      or section by section, in RStudio or at the prompt
#
# Simulated people with age, sex and site, and 24 regions that depend on them. `make r` installs the package.
library(kronorm)
folder <- commandArgs(TRUE)[1]
if (is.na(folder)) folder <- tempfile("normative-")
dir.create(folder, showWarnings = FALSE)

# %% A cohort: healthy people of four sites, and patients who have lost something in the first 8 regions
cohort <- kronorm_example(people = 240, patients = 30, sites = c("Bergen", "Oslo", "Rome", "Ulm"))
people <- cohort$data
regions <- cohort$responses # a matrix; a data frame would do
str(people)

# Training: 120 healthy people of three sites. Ulm is a clinic that comes later.
healthy <- people$group == "control"
train <- healthy & people$site != "Ulm" & seq_along(healthy) <= 160
test <- people$site != "Ulm" & !train
cat(sum(train), "people to learn from,", sum(test), "to be scored,", sum(test & !healthy), "of them patients\n")

# %% What is normal
model <- kronorm(~ age + sex + (1 | site), people[train, ], regions[train, ])
print(model)
print(summary(model))

# May it be believed? z of the training people, each by a model that has not seen them
z <- zscore(model)
cat(sprintf("held out: mean z %.3f, variance %.3f, beyond 1.96: %.1f %%\n", mean(z), var(as.vector(z)),
            100 * mean(abs(z) > 1.96)))

# %% What is expected of a person, and how far healthy people are from it
somebody <- data.frame(age = c(30, 50, 70), sex = "F", site = "Oslo")
expected <- predict(model, somebody, se.fit = TRUE)
print(cbind(somebody, mean = expected$fit[, "region_01"], sd = expected$se.fit[, "region_01"]), digits = 3)

# %% Who is abnormal
scores <- score(model, people[test, ], regions[test, ], label = c(group = "patient"))
most <- scores[order(scores$negative_p), c("participant_id", "label", "statistic", "p_upper", "negative", "negative_p")]
print(head(most), row.names = FALSE)
auc <- summary(scores)$AUC
cat(sprintf("AUC of lost tissue: %.2f (%.2f to %.2f)\n", auc$negative$auc, auc$negative$low, auc$negative$high))
print(head(score_responses(scores), 3), row.names = FALSE)

# Where? The mean z of patients, region by region
z <- zscore(model, people[test & !healthy, ], regions[test & !healthy, ])
print(round(colMeans(z), 2))

# %% A clinic that the model does not know
ulm <- people$site == "Ulm"
refused <- tryCatch(zscore(model, people[ulm, ], regions[ulm, ]), kronorm_error_data = conditionMessage)
cat(strwrap(refused, 100), sep = "\n")
controls <- which(ulm & healthy)[1:20]
others <- setdiff(which(ulm), controls)
clinic <- adapt(model, people[controls, ], regions[controls, ], verbose = TRUE)
z <- zscore(clinic, people[others, ], regions[others, ])
cat(sprintf("Ulm, adapted on 20 controls: variance of z %.2f\n", var(as.vector(z[healthy[others], ]))))

# %% Curves
curves <- centiles(model, "age", at = c(sex = "F"), grid = 30)
pdf(file.path(folder, "region_01.pdf"))
plot(curves, "region_01", ylim = range(regions[, "region_01"]))
women <- healthy & people$sex == "F"
points(people$age[women], regions[women, "region_01"], col = "grey")
invisible(dev.off())

# %% Has somebody changed? Two visits, compared with those of stable people
visits <- kronorm_example(people = 25, patients = 5, sites = c("Bergen", "Oslo", "Rome"), visits = 2, seed = 5)
visits$data$participant_id <- sub("sub", "visitor", visits$data$participant_id)
changes <- change(model, visits$data, visits$responses, visit = "visit", reference = c(group = "control"))
print(subset(changes, reference == 0, c(person, interval, statistic, statistic_p, mean_z, mean_z_p)), row.names = FALSE)

# %% One page of it, and the model for others: the command and Python read the same file
report(model, file.path(folder, "report.html"), people[test, ], regions[test, ], label = c(group = "patient"),
       force = TRUE)
write_kronorm(model, file.path(folder, "model.safetensors"), force = TRUE)
again <- read_kronorm(file.path(folder, "model.safetensors"))
stopifnot(identical(zscore(again), zscore(model)))
cat("region_01.pdf, report.html and model.safetensors are in", folder, "\n")
