# What the library writes as a folder of tables, read back: centiles and change. And the page.

# A folder of its own for one call, whose tables `then` reads.
in_folder <- function(run, then) {
  folder <- tempfile("kronorm-")
  on.exit(unlink(folder, recursive = TRUE))
  run(folder)
  then(folder)
}

read_tsv <- function(folder, name, texts = character()) {
  path <- file.path(folder, name)
  if (!file.exists(path))
    return(NULL)
  header <- strsplit(readLines(path, 1L, encoding = "UTF-8"), "\t", fixed = TRUE)[[1]]
  kinds <- setNames(rep(NA_character_, length(header)), header)
  kinds[header %in% texts] <- "character"
  read.delim(path, na.strings = "n/a", check.names = FALSE, quote = "\"", colClasses = unname(kinds),
             encoding = "UTF-8", stringsAsFactors = FALSE, comment.char = "")
}

# Covariates that are categories: their levels may look like numbers.
categories_of <- function(object) {
  columns <- info_of(object)$recipe$columns
  unlist(lapply(columns, function(c) if (identical(c$kind, "categorical")) c$name))
}

centiles <- function(object, ...) UseMethod("centiles")

centiles.kronorm <- function(object, over = "age", newdata = NULL, responses = NULL, ..., training = NULL,
                             training_responses = NULL, id = NULL, threads = NULL, memory = NULL,
                             verbose = FALSE, progress = FALSE) {
  given <- list(...)
  needs_tables(object, "centiles")
  ctx <- new_ctx(threads, memory)
  lent <- function(data, responses, what) {
    if (is.null(data) && !is.null(responses))
      refuse("responses are given without ", what)
    if (is.null(data))
      return(NULL)
    participants <- participants_for(object, data, id, given)
    make_data(ctx, participants, responses_for(object, participants$data, responses, participants))
  }
  participants <- lent(newdata, responses, "newdata")
  train <- lent(training, training_responses, "training")
  on.exit(end_bar(progress))
  in_folder(function(folder)
    value_of(.Call(kr_centiles, ctx, handle_of(object, ctx), train, participants,
                   make_options(ctx, "centiles", given, list(over = over, output = folder)),
                   listeners(verbose, progress))),
    function(folder) {
      texts <- c("response", "band", "participant_id", categories_of(object))
      structure(read_tsv(folder, "centiles.tsv", texts), params = read_tsv(folder, "params.tsv", texts),
                points = read_tsv(folder, "points.tsv", texts), over = over,
                class = c("kronorm_centiles", "data.frame"))
    })
}

needs_tables <- function(object, what)
  if (identical(info_of(object)$responses_kind, "image"))
    refuse(what, "() of a model of images is done by the command 'kronorm ", what, "', which writes images")

change <- function(object, ...) UseMethod("change")

change.kronorm <- function(object, newdata, responses = NULL, visit, reference = NULL, ..., id = NULL,
                           threads = NULL, memory = NULL, verbose = FALSE, progress = FALSE) {
  given <- list(...)
  needs_tables(object, "change")
  if (missing(visit))
    refuse("visit is missing, expected the column of newdata with the visit of each row")
  participants <- participants_for(object, newdata, id, c(given, list(visit, reference)))
  Y <- responses_for(object, participants$data, responses, participants)
  ctx <- new_ctx(threads, memory)
  on.exit(end_bar(progress))
  in_folder(function(folder)
    value_of(.Call(kr_change, ctx, handle_of(object, ctx), make_data(ctx, participants, Y),
                   make_options(ctx, "change", given, list(visit = visit, reference = reference,
                                                           output = folder, format = "csv")),
                   listeners(verbose, progress))),
    function(folder) {
      table <- read_tsv(folder, "change.tsv", c("participant_id", "visit1", "visit2", "pair"))
      z <- utils::read.csv(file.path(folder, "change_z.csv"), check.names = FALSE, na.strings = "n/a",
                           row.names = 1, encoding = "UTF-8")
      z <- as.matrix(z)
      colnames(z) <- object$responses
      structure(table, z = z, reference = read_json(paste(readLines(file.path(folder, "reference.json"),
                                                                    encoding = "UTF-8"), collapse = "\n")))
    })
}

report <- function(object, ...) UseMethod("report")

report.kronorm <- function(object, file, newdata = NULL, responses = NULL, ..., cases = NULL, id = NULL,
                           threads = NULL, memory = NULL, verbose = FALSE, progress = FALSE) {
  check_path(file)
  given <- list(...)
  if (length(given) && !is.null(newdata))
    names(given) <- own_names(names(given), "score")
  of_score <- if (!is.null(newdata)) # unseen = "prior", missing = "drop": how participants are scored
    setdiff(intersect(names(given), kronorm_options("score")$key), kronorm_options("report")$key)
  scoring <- c(list(cases = cases), given[names(given) %in% of_score])
  given <- given[!names(given) %in% of_score]
  ctx <- new_ctx(threads, memory)
  on.exit(end_bar(progress))
  page <- function(scored = NULL)
    value_of(.Call(kr_report, ctx, handle_of(object, ctx),
                   make_options(ctx, "report", given, list(scored = scored, output = path.expand(file))),
                   listeners(verbose, progress)))
  if (is.null(newdata)) {
    if (!is.null(responses))
      refuse("responses are given without newdata")
    page()
  } else {
    how <- list(id = id, threads = threads, memory = memory, verbose = verbose, progress = progress)
    in_folder(function(folder)
      run_score(object, newdata, responses, list(given = scoring, own = list(output = folder), how = how),
                function(ctx, said, participants) NULL), page)
  }
  invisible(file)
}
