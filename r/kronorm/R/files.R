# Tables of the files that FreeSurfer writes, read by the library.

read_freesurfer <- function(path, measure = NULL, atlas = "aparc") {
  if (!is.character(path) || length(path) == 0 || anyNA(path) || !all(nzchar(path)))
    refuse("path is ", describe(path), ", expected a SUBJECTS_DIR or names of tables")
  ctx <- new_ctx()
  own <- list(responses = paste(path.expand(path), collapse = ","))
  if (!is.null(measure))
    own <- c(own, list(measure = measure, atlas = atlas))
  text <- value_of(.Call(kr_responses_table, ctx, make_options(ctx, "fit", list(), own)))
  header <- strsplit(sub("\n.*", "", text), "\t", fixed = TRUE)[[1]]
  kinds <- c("character", rep(NA_character_, length(header) - 1))
  read.delim(text = text, na.strings = "n/a", check.names = FALSE, quote = "\"", colClasses = kinds,
             stringsAsFactors = FALSE, comment.char = "")
}
