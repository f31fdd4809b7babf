# Options of the library by their keys.

# One row an option.
kronorm_options <- function(command = "fit") {
  if (is.null(command))
    command <- c("fit", "score", "predict", "adapt", "centiles", "change", "report")
  if (!is.character(command) || length(command) == 0 || anyNA(command))
    refuse("command must be a name, such as \"fit\"")
  tables <- lapply(command, function(one) {
    table <- as.data.frame(.Call(kr_option_table, one), stringsAsFactors = FALSE,
                           optional = TRUE)
    if (nrow(table) == 0)
      refuse("there is no command '", one, "'")
    table$words <- gsub("=-?[0-9]+", "", table$words) # what a word counts as
    table$help <- vapply(table$help, function(h) spell(dashes(h)), "", USE.NAMES = FALSE)
    table[!table$key %in% not_here(one), ]
  })
  if (length(command) > 1)
    tables <- Map(function(one, table) cbind(command = one, table), command, tables)
  table <- do.call(rbind, unname(tables))
  rownames(table) <- NULL
  table
}

# The help of the library was written for a command line.
dashes <- function(help) {
  found <- gregexpr("--[a-z]+(-[a-z]+)*", help)
  regmatches(help, found) <- lapply(regmatches(help, found), function(m) gsub("-", "_", sub("^--", "", m)))
  help
}

# Keys that are arguments of R functions, or files where R has tables.
not_here <- function(command)
  c("covariates", "responses", "mask", "match", "na", "targets", "id", "model", "threads", "memory",
    "measure", "atlas", "suffix", "space", "desc", "entities", "dry_run",
    switch(command, fit = c("use", "subset", "weights", "na.action"),
           centiles = c("participants", "format", "output", "force"), change = c("format", "output", "force"),
           report = c("scored", "json", "output"), score = , predict = c("write", "split", "format", "part", "join")))

# Text of a value: c("age", "sex") is age,sex; c(sex = "F") is sex=F; TRUE is yes.
option_text <- function(key, value) {
  if (is.factor(value))
    value <- as.character(value)
  if (is.list(value))
    value <- unlist(value)
  if (is.logical(value) && length(value) > 1)
    refuse(key, " has ", length(value), " values, expected one",
           if (key %in% c("cases", "reference"))
             paste0(": name a column of the data and what is in it, ", key, " = c(group = \"patient\")"))
  usable <- is.atomic(value) && length(value) > 0
  if (!usable || anyNA(value))
    refuse(key, " is ", if (length(value) == 0) "empty" else class(value)[1],
           if (usable) " with NA", ", expected a number, a text, TRUE or FALSE, or several with c()")
  text <- if (is.logical(value) && is.null(names(value))) ifelse(value, "yes", "no")
          else if (is.numeric(value)) vapply(value, number_text, "")
          else enc2utf8(as.character(value)) # of c(smoker = TRUE) what the column has
  paths <- startsWith(text, "~") # and nothing else begins with a tilde
  text[paths] <- path.expand(text[paths])
  if (!is.null(names(value)))
    text <- ifelse(nzchar(names(value)), paste0(names(value), "=", text), text)
  paste(text, collapse = ",")
}

number_text <- function(x) {
  if (is.infinite(x))
    return(if (x > 0) "inf" else "-inf")
  short <- sprintf("%.15g", x)
  if (abs(x) < 1e15 && x == round(x)) sprintf("%.0f", x)
  else if (as.numeric(short) == x) short
  else sprintf("%.17g", x)
}

# Keys instead of their aliases: label is cases.
own_names <- function(names, command) {
  table <- .Call(kr_option_table, command)
  found <- match(names, table$alias)
  ifelse(is.na(found), names, table$key[found])
}

# A handle of options from the list of ... and what R itself sets.
make_options <- function(ctx, command, given, own = list()) {
  given <- given[!vapply(given, is.null, NA)]
  if (length(given) && (is.null(names(given)) || !all(nzchar(names(given)))))
    refuse("an argument in ... has no name, expected an option such as seed = 1")
  names(given) <- own_names(names(given), command)
  twice <- names(given)[duplicated(names(given))]
  if (length(twice))
    refuse(twice[1], " is given twice")
  refuse_keys(names(given), command, names(own))
  own <- own[!vapply(own, is.null, NA)]
  unknown <- setdiff(names(given), .Call(kr_option_table, command)$key)
  if (length(unknown)) # whatever its value is: the library has the sentence
    given <- setNames(list(""), unknown[1])
  all <- c(own, given)
  texts <- vapply(names(all), function(key) option_text(key, all[[key]]), "")
  value_of(.Call(kr_options, ctx, command, as.character(names(all)), as.character(texts)))
}

# Keys that the command has, and R has not.
refuse_keys <- function(keys, command, own = NULL) {
  here <- intersect(keys, c(not_here(command), own))
  if (length(here))
    refuse(here[1], " is not an option in R: ", instead_of(here[1], command))
}

instead_of <- function(key, command)
  switch(key,
    use = , categorical = "the formula says what covariates are used",
    batch = , interaction = , group = "the formula says it already",
    covariates = , subset = "give the rows and columns of a data frame",
    na.action = "write missing = \"drop\", or fill covariates in before",
    weights = "rows have none",
    responses = , mask = , targets = "give a numeric matrix or a data frame",
    scored = "give newdata and responses",
    write = , split = , format = , force = "results come as matrices and data frames",
    part = , join = "give the rows that are wanted",
    output = if (command == "report") "the argument file names the page" else "results come as data frames",
    "it is an argument of the function")
