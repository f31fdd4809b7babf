# A site that training did not have.
source("helper.R")

all <- kronorm_example(160, regions = 20, sites = c("Bergen", "Oslo", "Rome", "Ulm"), patients = 20)
here <- all$data$site != "Ulm" & all$data$group == "control"
m <- kronorm(~ age + sex + (1 | site), all$data[here, ], all$responses[here, ], components = 3, threads = 1)
ulm <- which(all$data$site == "Ulm" & all$data$group == "control")
controls <- ulm[1:20]
others <- ulm[21:40]
refused(zscore(m, all$data[others, ], all$responses[others, ]), "from a site that is not in the training data (Ulm)", "kronorm_error_data")
prior <- suppressWarnings(zscore(m, all$data[others, ], all$responses[others, ], unseen = "prior"))
adapted <- suppressWarnings(adapt(m, all$data[controls, ], all$responses[controls, ]))
z <- suppressWarnings(zscore(adapted, all$data[others, ], all$responses[others, ]))
stopifnot(mean(colMeans(z)^2) < 0.3, mean(z^2) > 0.5, mean(z^2) < 1.5) # what the site does is gone
stopifnot(!identical(prior, z), identical(formula(adapted), formula(m)), identical(zscore(adapted), zscore(m)))
nameless <- kronorm(~ age + sex + (1 | site), all$data[here, -1], all$responses[here, ], components = 3, threads = 1)
stopifnot(identical(zscore(suppressWarnings(adapt(nameless, all$data[controls, -1], all$responses[controls, ]))), zscore(nameless)))
stopifnot("Adapted to Ulm with 20 controls" %in% capture.output(print(adapted)))
scores <- suppressWarnings(score(adapted, all$data[others, ], all$responses[others, ]))
stopifnot(all(scores$site_adapted == 1))
refused(adapt(adapted, all$data[controls, ], all$responses[controls, ]), "from a site that is already in the model (Ulm)", "kronorm_error_data")
refused(adapt(m, all$data[here, ], all$responses[here, ]), "from a site that is already in the model", "kronorm_error_data")

# each site has its own noise variance
at <- predict(adapted, data.frame(age = 50, sex = "F", site = c("Ulm", "Oslo")), se.fit = TRUE)
stopifnot(at$se.fit[1, ] != at$se.fit[2, ], at$se.fit > at$sd_model)
