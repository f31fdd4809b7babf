# Models that outlive the session.
source("helper.R")

m <- fit_small()
z <- zscore(m, small$data, small$responses, training_rows = "plain")
again <- function(model) identical(zscore(model, small$data, small$responses, training_rows = "plain"), z)

path <- file.path(tempdir(), "model.safetensors")
write_kronorm(m, path)
stopifnot(identical(readBin(path, "raw", file.size(path)), m$bytes))
read <- read_kronorm(path)
stopifnot(identical(read$bytes, m$bytes), identical(read$responses, m$responses), again(read), is.null(formula(read)))
refused(write_kronorm(m, path), "already exists; use force = TRUE to replace it", "kronorm_error_io")
write_kronorm(m, path, force = TRUE)
refused(read_kronorm(file.path(tempdir(), "nowhere")), "nowhere", "kronorm_error_io")
writeLines("knitting", file.path(tempdir(), "knitting"))
refused(read_kronorm(file.path(tempdir(), "knitting")), "knitting", "kronorm_error_format")
refused(read_kronorm(NA), "expected the name of a file")
refused(write_kronorm(m, character()), "expected the name of a file")

# tables of FreeSurfer
tables <- file.path(tempdir(), c("lh.txt", "rh.csv"))
writeLines(c("lh.aparc.thickness\tlh_cuneus_thickness", "sub-01\t1.5", "sub-02\t2.25"), tables[1])
writeLines(c("rh.aparc.thickness,rh_cuneus_thickness", "sub-02,2.5"), tables[2])
regions <- read_freesurfer(tables)
stopifnot(identical(names(regions), c("participant_id", "lh_cuneus_thickness", "rh_cuneus_thickness")),
          identical(regions$participant_id, c("sub-01", "sub-02")), identical(regions$lh_cuneus_thickness, c(1.5, 2.25)),
          identical(regions$rh_cuneus_thickness, c(NA, 2.5)))
refused(read_freesurfer(file.path(tempdir(), "nowhere.csv")), "nowhere", "kronorm_error_io")
refused(read_freesurfer(character()), "expected a SUBJECTS_DIR or names of tables")

# RDS: the handle is empty, and filled from the bytes once for all copies
file <- tempfile()
saveRDS(m, file)
back <- readRDS(file)
copy <- back
stopifnot(!.Call(kronorm:::kr_alive, back$handle), again(back), .Call(kronorm:::kr_alive, copy$handle), again(copy))
stopifnot(identical(unserialize(serialize(m, NULL))$bytes, m$bytes))
rm(back, copy)
invisible(gc())

# strip_ids: the model has no ids and no z-scores
stripped <- unserialize(serialize(fit_small(strip_ids = TRUE), NULL))
refused(zscore(stripped), "the model has no cross-validated z-scores", "kronorm_error_data")
for (yes in list(TRUE, 1, "yes", "true"))
  stopifnot(is.null(fit_small(data = small$data[-1], strip_ids = yes)$held_out))
for (no in list(FALSE, 0, "no", "false"))
  stopifnot(!is.null(fit_small(data = small$data[-1], strip_ids = no)$held_out))

has <- function(object, text) grepRaw(text, serialize(object, NULL), fixed = TRUE)
by_call <- do.call(kronorm, list(~ age + sex, small$data, small$responses, components = 2, strip_ids = TRUE, threads = 1))
stopifnot(length(has(by_call, "sub-003")) == 0, by_call$call$strip_ids)

# what is large where the model was fitted does not go along
local({
  ballast <- rnorm(1e6)
  inside <- kronorm(~ age, small$data, small$responses, components = 1, threads = 1)
  stopifnot(length(serialize(inside, NULL)) < 1e6)
})

# another process: by fork, and by bytes
if (requireNamespace("parallel", quietly = TRUE)) {
  stopifnot(all(unlist(parallel::mclapply(1:2, function(i) again(m), mc.cores = 2))))
  forked <- parallel::mclapply(1:2, function(i) fit_small()$bytes, mc.cores = 2)
  stopifnot(identical(forked[[1]], m$bytes), identical(forked[[2]], m$bytes))
}
script <- tempfile(fileext = ".R")
answer <- tempfile()
saveRDS(list(m, small), file)
writeLines(sprintf("x <- readRDS('%s'); .libPaths('%s'); saveRDS(suppressWarnings(kronorm::zscore(x[[1]], x[[2]]$data, x[[2]]$responses,
  training_rows = 'plain')), '%s')", file, dirname(system.file(package = "kronorm")), answer), script)
stopifnot(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script)) == 0, identical(readRDS(answer), z))

# bytes that are no model
broken <- unserialize(serialize(m, NULL))
broken$bytes <- broken$bytes[1:1000]
refused(zscore(broken, small$data, small$responses), "memory", "kronorm_error_format")
broken$bytes <- raw()
refused(predict(broken, small$data), "memory", "kronorm_error")
