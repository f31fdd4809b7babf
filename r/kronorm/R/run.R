# One call of the library: a context, and who listens.

# threads NULL: all processors. memory: bytes, or a text such as "8G"; NULL: half of what there is.
new_ctx <- function(threads = NULL, memory = NULL) {
  if (!is.null(threads) && (!is.numeric(threads) || length(threads) != 1 || is.na(threads) ||
                            threads < 0 || threads > 1e6 || threads != round(threads)))
    refuse("threads is not a number of threads; expected 0 (all processors) or more")
  ctx <- .Call(kr_new_ctx, as.integer(if (is.null(threads)) 0 else threads), bytes_of(memory))
  warn_of_blas()
  ctx
}

# Once per session. A BLAS that R has loaded takes precedence over the one that the library was linked to.
warn_of_blas <- function() {
  if (!is.null(remembered$blas))
    return()
  remembered$blas <- TRUE
  better <- kronorm_build()$better_core
  loaded <- extSoftVersion()[["BLAS"]]
  if (nzchar(loaded) && !grepl("openblas|mkl|blis|atlas|flexiblas|Rblas", loaded, ignore.case = TRUE))
    warning("R uses the BLAS library ", loaded, ", and so does kronorm: it is slow, and the last digits differ from those ",
            "of the command 'kronorm'. Install OpenBLAS for R.", call. = FALSE)
  else if (!is.na(better))
    warning("OpenBLAS does not recognise this processor: it is slow, and the last digits differ from those of the ",
            "command 'kronorm'. Start R with OPENBLAS_CORETYPE=", better, call. = FALSE)
}

bytes_of <- function(memory) {
  if (is.null(memory))
    return(0)
  if (is.character(memory) && length(memory) == 1)
    memory <- size_of(memory)
  if (!is.numeric(memory) || length(memory) != 1 || is.na(memory) || memory <= 0)
    refuse("memory is not a size, expected bytes or a text such as \"8G\"")
  as.double(memory)
}

size_of <- function(text) {
  found <- regmatches(text, regexec("^\\s*([0-9.]+)\\s*([kKmMgGtT]?)(i?)[bB]?\\s*$", text))[[1]]
  if (length(found) == 0)
    return(NA_real_)
  power <- match(toupper(found[3]), c("K", "M", "G", "T"), nomatch = 0)
  suppressWarnings(as.numeric(found[2])) * 1024^power
}

# list(say, tick) for the lines and the progress of a call.
listeners <- function(verbose = FALSE, progress = FALSE) {
  if (!is.function(progress))
    check_flag(progress, "progress", "TRUE, FALSE or a function of stage, done, total and lml")
  list(say = if (check_flag(verbose, "verbose")) function(line) message(spell(line)),
       tick = if (is.function(progress)) progress else if (progress) progress_bar())
}

check_flag <- function(x, name, expected = "TRUE or FALSE") {
  if (!isTRUE(x) && !isFALSE(x))
    refuse(name, " is ", describe(x), ", expected ", expected)
  x
}

# A progress line on the terminal.
progress_bar <- function() {
  function(stage, done, total, lml) {
    part <- if (total > 0) sprintf("%s%s %.0f/%.0f", strrep("=", round(30 * done / total)),
                                   strrep(" ", 30 - round(30 * done / total)), done, total)
            else sprintf("%.0f", done)
    cat(sprintf("\r%-18s %-50s", stage, part), file = stderr())
  }
}

end_bar <- function(progress)
  if (isTRUE(progress))
    cat("\r", strrep(" ", 70), "\r", sep = "", file = stderr())

kronorm_build <- function() .Call(kr_build)

kronorm_version <- function() {
  build <- kronorm_build()
  structure(package_version(build$library), blas = build$blas, core = build$core)
}

.onLoad <- function(libname, pkgname) {
  build <- kronorm_build()
  minor <- function(version) sub("\\.[0-9]+$", "", version)
  if (minor(build$library) != minor(build$header))
    stop("libkronorm has version ", build$library, ", but this package was installed for ",
         build$header, ": install the package again")
}
