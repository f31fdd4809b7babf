# What the library tells as JSON: objects are lists with names, arrays vectors where all are alike.
read_json <- function(text) {
  pattern <- paste0("\"(?:[^\"\\\\]|\\\\.)*\"|-?[0-9][-+0-9.eE]*|true|false|null|[][{}:,]")
  tokens <- regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1]]
  at <- 0L
  take <- function() tokens[at <<- at + 1L]
  peek <- function() tokens[at + 1L]
  value <- function() {
    token <- take()
    switch(substr(token, 1, 1), "{" = object(), "[" = array(), "\"" = unquote(token), t = TRUE,
           f = FALSE, n = NULL, as.numeric(token))
  }
  object <- function() {
    all <- list()
    while (peek() != "}") {
      key <- unquote(take())
      take() # the colon
      all[key] <- list(value())
      if (peek() == ",") take()
    }
    take()
    all
  }
  array <- function() {
    all <- list()
    while (peek() != "]") {
      all[length(all) + 1L] <- list(value())
      if (peek() == ",") take()
    }
    take()
    simple(all)
  }
  value()
}

simple <- function(all) {
  nothing <- vapply(all, is.null, NA)
  kinds <- unique(vapply(all[!nothing], function(x) if (is.atomic(x) && length(x) == 1) class(x)[1] else "", ""))
  if (length(kinds) != 1 || kinds == "")
    return(all)
  all[nothing] <- NA
  unlist(all)
}

# "a\"b\u00e9" without its quotes
unquote <- function(token) {
  text <- substr(token, 2, nchar(token) - 1)
  if (!grepl("\\", text, fixed = TRUE))
    return(text)
  parts <- regmatches(text, gregexpr("\\\\u[0-9a-fA-F]{4}|\\\\.|[^\\\\]+", text))[[1]]
  known <- c("\\n" = "\n", "\\t" = "\t", "\\r" = "\r", "\\b" = "\b", "\\f" = "\f")
  paste(vapply(parts, function(p) {
    if (p %in% names(known)) known[[p]]
    else if (startsWith(p, "\\u")) intToUtf8(strtoi(substr(p, 3, 6), 16L))
    else if (startsWith(p, "\\")) substr(p, 2, 2)
    else p
  }, ""), collapse = "")
}
