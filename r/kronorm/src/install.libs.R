# The package's own library, that of kronorm where configure put it beside (KRONORM_BUNDLE), and what
# R CMD check wants to know of the objects.
files <- c(Sys.glob(paste0("*", SHLIB_EXT)), Sys.glob("libkronorm.so.*"), Sys.glob("symbols.rds"))
to <- file.path(R_PACKAGE_DIR, paste0("libs", R_ARCH))
dir.create(to, recursive = TRUE, showWarnings = FALSE)
if (!all(file.copy(files, to, overwrite = TRUE)))
  stop("the libraries could not be copied to ", to)
