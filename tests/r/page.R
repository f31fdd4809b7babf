# Code of a page runs, and prints what stands behind it as "#> ...". Last digits may differ by processor.
#   Rscript page.R PAGE
options(width = 100, warn = 1, digits = 7)
lines <- readLines(commandArgs(TRUE)[1], encoding = "UTF-8")
fence <- grep("^```", lines)
starts <- fence[c(TRUE, FALSE)]
ends <- fence[c(FALSE, TRUE)]
code <- unlist(Map(function(a, b) if (grepl("^```r$", lines[a]) && b > a + 1) lines[(a + 1):(b - 1)], starts, ends))
setwd(tempdir())

numbers <- function(text) as.numeric(regmatches(text, gregexpr("-?[0-9]+\\.[0-9]+(e-?[0-9]+)?", text))[[1]])
frame <- function(text) gsub("\\s+", " ", trimws(gsub("-?[0-9]+\\.[0-9]+(e-?[0-9]+)?", "#", text)))
alike <- function(told, said) {
  a <- numbers(told)
  b <- numbers(said)
  identical(frame(told), frame(said)) && length(a) == length(b) && all(abs(a - b) <= 0.02 + 0.05 * abs(b))
}

promised <- grepl("^#>", code)
said <- character()
blocks <- 0
flush_block <- function(told) {
  told <- sub("^#> ?", "", told)
  if (length(told) != length(said) || !all(mapply(alike, told, said))) {
    writeLines(c("the page has", told, "R prints", said))
    quit(status = 1)
  }
  said <<- character()
  blocks <<- blocks + 1
}

at <- 1
while (at <= length(code)) {
  if (promised[at]) {
    last <- at
    while (last < length(code) && promised[last + 1]) last <- last + 1
    flush_block(code[at:last])
    at <- last + 1
    next
  }
  # the shortest piece of code that is whole
  for (last in at:length(code)) {
    piece <- tryCatch(parse(text = code[at:last]), error = function(e) NULL)
    if (!is.null(piece)) break
  }
  if (length(said)) { # output that the page leaves out
    said <- character()
  }
  for (one in as.list(piece))
    said <- c(said, capture.output({
      shown <- withVisible(tryCatch(eval(one, globalenv()), error = function(e) {
        cat("Error: ", conditionMessage(e), "\n", sep = "")
        invisible()
      }))
      if (shown$visible) print(shown$value)
    }))
  at <- last + 1
}
cat(blocks, "outputs of the page are what R prints\n")
stopifnot(blocks > 3)
