# %% Normative modelling in R, from a cohort to a report
#
#     Rscript examples/normative.R [FOLDER]      or one section at a time, in RStudio or at the prompt
#
# Simulated participants with age, sex and site, and 24 regional measures that depend on them. `make r` installs the package.
library(kronorm)
folder <- commandArgs(TRUE)[1]
if (is.na(folder)) folder <- tempfile("normative-")
dir.create(folder, showWarnings = FALSE)

# %% A cohort: healthy participants from four sites, and patients with a loss in the first 8 regions
cohort <- kronorm_example(participants = 240, patients = 30, sites = c("Bergen", "Oslo", "Rome", "Ulm"))
participants <- cohort$data
regions <- cohort$responses # a matrix; a data frame would do
str(participants)

# Training sample: 120 healthy participants from three sites. Ulm is a new site, used below.
healthy <- participants$group == "control"
train <- healthy & participants$site != "Ulm" & seq_along(healthy) <= 160
test <- participants$site != "Ulm" & !train
cat(sum(train), "training participants,", sum(test), "to score, including", sum(test & !healthy), "patients\n")

# %% Fit the model
model <- kronorm(~ age + sex + (1 | site), participants[train, ], regions[train, ])
print(model)
print(summary(model))

# Check the calibration: cross-validated z-scores of the training sample
z <- zscore(model)
cat(sprintf("cross-validated z-scores: mean %.3f, variance %.3f, |z| > 1.96 in %.1f%%\n", mean(z), var(as.vector(z)),
            100 * mean(abs(z) > 1.96)))

# %% Predict responses and their total standard deviation
new <- data.frame(age = c(30, 50, 70), sex = "F", site = "Oslo")
prediction <- predict(model, new, se.fit = TRUE)
print(cbind(new, mean = prediction$fit[, "region_01"], sd = prediction$se.fit[, "region_01"]), digits = 3)

# %% Score new participants
scores <- score(model, participants[test, ], regions[test, ], cases = c(group = "patient"))
most <- scores[order(scores$n_low_p), c("participant_id", "label", "extreme_z", "extreme_z_p", "n_low", "n_low_p")]
print(head(most), row.names = FALSE)
auc <- summary(scores)$AUC
cat(sprintf("AUC of the number of low regions: %.2f (%.2f to %.2f)\n", auc$n_low$auc, auc$n_low$low, auc$n_low$high))
print(head(score_responses(scores), 3), row.names = FALSE)

# The mean z-score of the patients in each region
z <- zscore(model, participants[test & !healthy, ], regions[test & !healthy, ])
print(round(colMeans(z), 2))

# %% Adapt the model to a new site
ulm <- participants$site == "Ulm"
message <- tryCatch(zscore(model, participants[ulm, ], regions[ulm, ]), kronorm_error_data = conditionMessage)
cat(strwrap(message, 100), sep = "\n")
controls <- which(ulm & healthy)[1:20]
others <- setdiff(which(ulm), controls)
clinic <- adapt(model, participants[controls, ], regions[controls, ], verbose = TRUE)
z <- zscore(clinic, participants[others, ], regions[others, ])
cat(sprintf("Ulm, adapted with 20 controls: variance of z-scores %.2f\n", var(as.vector(z[healthy[others], ]))))

# %% Centile curves
curves <- centiles(model, "age", at = c(sex = "F"), grid = 30)
pdf(file.path(folder, "region_01.pdf"))
plot(curves, "region_01", ylim = range(regions[, "region_01"]))
women <- healthy & participants$sex == "F"
points(participants$age[women], regions[women, "region_01"], col = "grey")
invisible(dev.off())

# %% Change between two visits, compared with stable participants
visits <- kronorm_example(participants = 25, patients = 5, sites = c("Bergen", "Oslo", "Rome"), visits = 2, seed = 5)
visits$data$participant_id <- sub("sub", "visitor", visits$data$participant_id)
changes <- change(model, visits$data, visits$responses, visit = "visit", reference = c(group = "control"))
print(subset(changes, reference == 0, c(participant_id, interval, extreme_z, extreme_z_p, mean_z, mean_z_p)), row.names = FALSE)

# %% A report, and the model file, which the command and Python read
report(model, file.path(folder, "report.html"), participants[test, ], regions[test, ], cases = c(group = "patient"),
       force = TRUE)
write_kronorm(model, file.path(folder, "model.safetensors"), force = TRUE)
again <- read_kronorm(file.path(folder, "model.safetensors"))
stopifnot(identical(zscore(again), zscore(model)))
cat("region_01.pdf, report.html and model.safetensors are in", folder, "\n")
