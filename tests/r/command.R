# The same tables by the command and by R: the same arrays of the model and bytes of z.
#   Rscript command.R KRONORM
options(warn = 1)
library(kronorm)
command <- commandArgs(TRUE)[1]
folder <- tempfile()
dir.create(folder)
path <- function(...) file.path(folder, ...)
run <- function(...) {
  status <- system2(command, shQuote(c(...)), stdout = path("out"), stderr = path("err"))
  if (status != 0)
    stop("kronorm ", paste(...), ": ", paste(readLines(path("err")), collapse = "\n"))
}
bytes <- function(file) readBin(file, "raw", file.size(file))
# the arrays of a model: its header also names the files of the run that made it
arrays <- function(all) all[-seq_len(8 + readBin(all[1:4], "integer", endian = "little"))]
people <- function(name) read.delim(path("study", paste0(name, "_participants.tsv")))
regions <- function(name) read.csv(path("study", paste0(name, "_regions.csv")))
# an array of floats behind its header, rows first
npy <- function(file, n) {
  all <- bytes(file)
  start <- 10 + readBin(all[9:10], "integer", size = 2, signed = FALSE, endian = "little")
  matrix(readBin(all[-seq_len(start)], "double", length(all) / 4, size = 4), n, byrow = TRUE)
}
tsv <- function(file) read.delim(file, na.strings = "n/a")

run("simulate", "--regions", "20", "--sites", "3", "-o", path("study"))
options_of <- c("--use", "age,sex,site", "--batch", "site", "--interaction", "site:age", "--seed", "4")
run("fit", "-c", path("study", "train_participants.tsv"), "-y", path("study", "train_regions.csv"), options_of,
    "-o", path("model.safetensors"))
model <- kronorm(~ age + sex + (age | site), people("train"), regions("train"), seed = 4)
stopifnot(identical(arrays(model$bytes), arrays(bytes(path("model.safetensors")))))
write_kronorm(model, path("r.safetensors"))
stopifnot(identical(bytes(path("r.safetensors")), model$bytes))

run("score", path("model.safetensors"), "-c", path("study", "test_participants.tsv"), "-y", path("study", "test_regions.csv"),
    "--cases", "group=patient", "--format", "npy", "--write", "z,yhat,ys2_model", "-o", path("scored"))
test <- people("test")
z <- suppressWarnings(zscore(read_kronorm(path("model.safetensors")), test, regions("test")))
stopifnot(identical(unname(z), npy(path("scored", "z.npy"), nrow(test))))
stopifnot(identical(unname(suppressWarnings(predict(model, test))), npy(path("scored", "yhat.npy"), nrow(test))))
scores <- suppressWarnings(score(model, test, regions("test"), cases = c(group = "patient")))
written <- tsv(path("scored", "abnormality.tsv"))
stopifnot(identical(names(scores), names(written)), identical(scores$participant_id, written$participant_id))
for (name in setdiff(names(scores), c("participant_id", "p_note")))
  stopifnot(isTRUE(all.equal(scores[[name]], as.numeric(written[[name]]), tolerance = 1e-15)))

run("adapt", path("model.safetensors"), "-c", path("study", "adapt_participants.tsv"), "-y", path("study", "adapt_regions.csv"),
    "-o", path("adapted.safetensors"))
adapted <- suppressWarnings(adapt(model, people("adapt"), regions("adapt")))
stopifnot(identical(arrays(adapted$bytes), arrays(bytes(path("adapted.safetensors")))))

run("centiles", path("model.safetensors"), "--over", "age", "--grid", "5", "-o", path("curves"))
curves <- suppressWarnings(centiles(model, "age", grid = 5))
stopifnot(isTRUE(all.equal(as.data.frame(unclass(curves)[seq_along(curves)]), tsv(path("curves", "centiles.tsv")),
                           tolerance = 1e-15, check.attributes = FALSE)))

# the other way round: the command reads what R wrote
run("score", path("r.safetensors"), "-c", path("study", "test_participants.tsv"), "-y", path("study", "test_regions.csv"),
    "--format", "npy", "-o", path("again"))
stopifnot(identical(bytes(path("again", "z.npy")), bytes(path("scored", "z.npy"))))
cat("R and the command agree, byte for byte\n")
