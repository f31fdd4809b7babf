# A data frame as participants for the library: columns and ids.

as_participants <- function(data, what = "data") {
  if (is.matrix(data) && is.numeric(data) && !is.null(colnames(data)))
    data <- as.data.frame(data)
  if (!is.data.frame(data))
    refuse(what, " is ", class(data)[1], ", expected a data frame of covariates", kind = "data")
  twice <- names(data)[duplicated(names(data))]
  if (length(twice))
    refuse(what, ": two columns are named '", twice[1], "'", kind = "data")
  if (nrow(data) == 0)
    refuse(what, " has no rows", kind = "shape")
  as.data.frame(data)
}

# Numbers, or texts of a category; NA is missing in both.
as_column <- function(x, name) {
  if (is.matrix(x) && ncol(x) == 1) # scale() makes them
    x <- x[, 1]
  if (is.factor(x) || is.character(x))
    return(enc2utf8(as.character(x)))
  if (is.logical(x))
    return(as.character(x))
  if (is_numbers(x) && is.null(dim(x)))
    return(as.double(x))
  refuse("column '", name, "' is ", class(x)[1], if (!is.null(dim(x))) " with several columns",
         ", expected numbers, a factor, texts or TRUE and FALSE", kind = "data")
}

# Not what has other numbers inside than it shows.
is_numbers <- function(x) is.numeric(x) && !inherits(x, c("Date", "POSIXt", "difftime", "integer64"))

as_columns <- function(data, names) {
  names <- unique(names)
  if (anyNA(names) || !all(nzchar(names))) # of ~ .
    refuse("data has a column without a name", kind = "data")
  setNames(lapply(names, function(name) as_column(data[[name]], name)), names)
}

# Columns that options speak of: group = "family", cases = "group=patient".
mentioned <- function(data, options) {
  texts <- as.character(unlist(lapply(options, function(o)
    if (is.character(o) || is.factor(o) || is.vector(o) && !is.null(names(o))) c(names(o), as.character(unlist(o))))))
  words <- c(texts, unlist(strsplit(texts, "[][ ,=<>!|:@]+")))
  usable <- vapply(data, function(x) is.numeric(x) || is.character(x) || is.factor(x) || is.logical(x), NA)
  names(data)[usable & names(data) %in% words]
}

ID <- "participant_id"
USUAL_IDS <- c(ID, "sub_id", "subject_id", "SubjID", "participant", "subject", "eid", "src_subject_id", "record_id", "id")

# list(ids, column): texts or NULL, and the column that they are of
find_ids <- function(data, id = NULL, what = "data") {
  if (is.null(id)) {
    column <- intersect(USUAL_IDS, names(data))[1]
    if (!is.na(column))
      return(list(ids = id_texts(data[[column]], what), column = column))
    own <- attr(data, "row.names")
    return(list(ids = if (is.character(own)) enc2utf8(own)))
  }
  if (is.character(id) && length(id) == 1 && (nrow(data) != 1 || id %in% names(data))) {
    if (!id %in% names(data))
      refuse("id: ", what, " has no column '", id, "'", kind = "data")
    return(list(ids = id_texts(data[[id]], what), column = id))
  }
  if (!is.atomic(id) && !is.factor(id) || length(id) != nrow(data))
    refuse("id has ", length(id), " values, expected the name of a column, or an id for each of the ",
           nrow(data), " rows of ", what, kind = "shape")
  list(ids = id_texts(id, what))
}

id_texts <- function(x, what) {
  if (anyNA(x))
    refuse(what, " row ", which(is.na(x))[1], ": the id is missing", kind = "data")
  if (is.numeric(x))
    return(vapply(x, number_text, ""))
  enc2utf8(as.character(x))
}

# A handle of data. participants: list(data, ids, id (the column of ids), columns); responses a matrix or NULL
make_data <- function(ctx, participants, responses = NULL) {
  columns <- participants$columns
  if (!is.null(participants$ids) && ID %in% columns) { # the library has the ids under this name
    if (!identical(participants$id, ID))
      refuse("column '", ID, "': ids are elsewhere (id), so it needs another name", kind = "data")
    columns <- setdiff(columns, ID)
  }
  value_of(.Call(kr_data, ctx, as.double(nrow(participants$data)), as_columns(participants$data, columns),
                 participants$ids, responses))
}

# People for a model that is there: the columns it takes, and those that options speak of.
participants_for <- function(object, newdata, id, options) {
  newdata <- as_participants(newdata, "newdata")
  found <- find_ids(newdata, id, "newdata")
  wanted <- vapply(info_of(object)$recipe$columns, function(c) c$name, "")
  lost <- setdiff(wanted, names(newdata))
  if (length(lost))
    refuse("newdata has no column '", lost[1], "', which the model needs", kind = "data")
  list(data = newdata, ids = found$ids, id = found$column, columns = c(wanted, mentioned(newdata, options)))
}

# Names for rows of results: ids, or the names of the rows of newdata. Rows may have left.
row_labels <- function(participants, ids) {
  if (!is.null(participants$ids))
    return(ids)
  row.names(participants$data)[as.integer(sub("^row-0*", "", ids))]
}
