# Responses as a matrix of doubles, with the rows of the participants.

as_responses <- function(responses, participants) {
  data <- participants$data
  if (is.character(responses) && is.null(dim(responses)))
    responses <- columns_named(responses, data)
  id <- if (is.data.frame(responses)) intersect(c(participants$id, USUAL_IDS), names(responses))[1] else NA
  rows <- named_rows(responses)
  if (is.logical(responses) && all(is.na(responses)))
    storage.mode(responses) <- "double"
  if (is.data.frame(responses))
    responses <- matrix_of(responses, id)
  else if (is.numeric(responses) && is.null(dim(responses)))
    responses <- if (nrow(data) == 1) one_person(responses) else matrix(responses, ncol = 1)
  if (!is.matrix(responses) || !is.numeric(responses))
    refuse("responses are ", describe(responses), ", expected a numeric matrix or a data frame", kind = "data")
  if (ncol(responses) == 0)
    refuse("responses have no columns", kind = "shape")
  # "3", "1", "2" are numbers of rows where the data have them too: both were taken from one table
  if (!is.na(id) || !identical(rownames(responses), row.names(data))) {
    if (is.na(id) && !any(rows %in% participants$ids))
      refuse_shuffled(rows, data)
    responses <- in_order(responses, participants$ids)
  }
  if (nrow(responses) != nrow(data))
    refuse("data have ", nrow(data), " rows, responses ", nrow(responses), kind = "shape")
  names <- colnames(responses)
  if (!is.null(names) && (anyNA(names) || anyDuplicated(names) || !all(nzchar(names))))
    refuse("responses: ", if (anyDuplicated(names)) paste0("two columns are named '",
           names[duplicated(names)][1], "'") else "some columns have no name", kind = "data")
  if (!is.double(responses))
    storage.mode(responses) <- "double"
  responses
}

# Names of rows that were given or kept from a larger table, not those that any data frame has.
named_rows <- function(x)
  if (!is.data.frame(x)) rownames(x) else if (.row_names_info(x) > 0) row.names(x)

# Rows without ids go by position, unless their names contradict it.
refuse_shuffled <- function(rows, data) {
  own <- named_rows(data)
  if (length(rows) == length(own) && !identical(rows, own) && setequal(rows, own))
    refuse("the responses have the row names of the data in another order: put them in the same order, ",
           "such as responses[row.names(data), ]", kind = "data")
}

describe <- function(x)
  if (is.matrix(x)) paste("a matrix of", typeof(x)) else if (is.null(x)) "missing" else class(x)[1]

one_person <- function(x) matrix(x, nrow = 1, dimnames = list(NULL, names(x)))

columns_named <- function(names, data) {
  lost <- setdiff(names, names(data))
  if (length(lost))
    refuse("responses: the data have no column '", lost[1], "'", kind = "data")
  if (anyDuplicated(names))
    refuse("responses: column '", names[duplicated(names)][1], "' is named twice", kind = "data")
  data[names]
}

# A column with ids is what rows are matched by, not a response.
matrix_of <- function(table, id) {
  rows <- if (!is.na(id)) id_texts(table[[id]], "responses") else {
    own <- attr(table, "row.names")
    if (is.character(own)) own
  }
  table <- table[setdiff(names(table), id)]
  for (name in names(table))
    if (NCOL(table[[name]]) != 1 || !is_numbers(table[[name]]) && !all(is.na(table[[name]])))
      refuse("responses: column '", name, "' is ", describe(table[[name]]), ", expected numbers", kind = "data")
  values <- vapply(table, as.double, numeric(nrow(table)))
  matrix(values, nrow(table), ncol(table), dimnames = list(rows, names(table)))
}

# If both sides have ids, rows are put in the order of the participants.
in_order <- function(responses, ids) {
  rows <- rownames(responses)
  if (is.null(rows) || is.null(ids) || identical(rows, ids) || !any(rows %in% ids))
    return(responses)
  lost <- setdiff(ids, rows)
  if (length(lost))
    refuse(length(lost), " of ", length(ids), " participants are not in the responses (", lost[1],
           if (length(lost) > 1) ", ...", "): rows are matched by their names", kind = "data")
  extra <- setdiff(rows, ids)
  if (length(extra))
    refuse(length(extra), " of ", length(rows), " rows of the responses have no participant in the data (", extra[1],
           if (length(extra) > 1) ", ...", "): rows are matched by their names", kind = "data")
  if (anyDuplicated(ids) || anyDuplicated(rows)) {
    if (length(ids) == length(rows))
      refuse("ids repeat, and the responses are in another order than the data: put them in the ",
             "same order", kind = "data")
    return(responses)
  }
  responses[match(ids, rows), , drop = FALSE]
}

# Responses of new participants, possibly columns of newdata: on the left side of the formula, or
# in columns of the names that the model has.
responses_for <- function(object, newdata, responses, participants) {
  if (!is.null(responses))
    return(as_responses(responses, participants))
  lhs <- object$lhs
  if (!is.null(lhs) && length(all.vars(lhs)) && all(all.vars(lhs) %in% names(newdata)))
    return(as_responses(left_side(lhs, newdata, baseenv()), participants))
  names <- object$responses
  if (!is.null(names) && all(names %in% names(newdata)))
    return(as_responses(names, participants))
  refuse("responses are missing: give a matrix or a data frame",
         if (!is.null(names)) ", or columns of newdata with the names that the model has", kind = "data")
}

# cbind(a, b), the name of a column or of a matrix, log(a)
left_side <- function(lhs, data, environment) {
  y <- tryCatch(eval(lhs, data, environment), error = function(e)
    refuse("left side of the formula: ", conditionMessage(e), kind = "data"))
  if (is.name(lhs) && is.null(dim(y)))
    y <- matrix(y, ncol = 1, dimnames = list(NULL, as.character(lhs)))
  y
}
