# Messages of the library as R conditions.

# Advice on an option that R does not have, and its form in R.
phrases <- c(
  "use {match=common} to use only the IDs that are in both" = "omit the IDs that are not in both",
  "use {match=common} to keep the IDs in all tables" = "omit the IDs that are not in all tables",
  " or {match=common}" = "")

# {missing=drop} is missing = "drop", {folds=0} is folds = 0, {force} is force = TRUE: how the
# sentences of the library name options.
spell <- function(sentence) {
  for (phrase in names(phrases))
    sentence <- gsub(phrase, phrases[[phrase]], sentence, fixed = TRUE)
  for (mark in unique(unlist(regmatches(sentence, gregexpr("\\{[a-z_]+(=[^}]*)?\\}", sentence))))) {
    inside <- substr(mark, 2, nchar(mark) - 1)
    key <- sub("=.*", "", inside)
    value <- if (grepl("=", inside, fixed = TRUE)) sub("^[^=]*=", "", inside)
    sentence <- gsub(mark, spell_option(key, value), sentence, fixed = TRUE)
  }
  sentence <- gsub("is ('n/a'|''),", "is NA,", sentence) # of numbers, and of texts
  sentence <- gsub("NaN if it is missing", "NA if it is missing", sentence, fixed = TRUE)
  gsub("'kronorm (adapt|score|predict|fit|report|centiles|change)'", "\\1()", sentence)
}

spell_option <- function(key, value) {
  if (key == "use") # which R writes as a formula
    return(if (is.null(value)) "the formula" else paste0("formula: ", value))
  flag <- key %in% flags()
  if (is.null(value))
    return(if (flag) paste(key, "= TRUE") else key)
  if (flag)
    return(paste(key, "=", if (value == "no") "FALSE" else "TRUE"))
  number <- grepl("^-?[0-9.]+(e[-+]?[0-9]+)?$", value)
  paste(key, "=", if (number) value else dQuote(value, FALSE))
}

# The keys that take no value, of any command.
flags <- function() {
  if (is.null(remembered$flags)) {
    all <- kronorm_options(NULL)
    remembered$flags <- unique(all$key[all$type == "flag"])
  }
  remembered$flags
}

remembered <- new.env(parent = emptyenv())

# An error of class kronorm_error and of a more specific class, such as kronorm_error_data.
refuse <- function(..., kind = "argument", call = NULL)
  stop(structure(class = c(paste0("kronorm_error_", kind), "kronorm_error", "error", "condition"),
                 list(message = paste0(...), call = call)))

# The value of an answer; its warnings are raised after the call of the library.
value_of <- function(answer) {
  for (sentence in answer$warnings)
    warning(spell(sentence), call. = FALSE)
  if (answer$status != "ok")
    refuse(spell(answer$message), kind = answer$status)
  answer$value
}
