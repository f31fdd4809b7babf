# Curves of one response, with the graphics that R has.

plot.kronorm <- function(x, y = NULL, ..., over = "age", at = NULL)
  plot(centiles(x, over, at = at), y, ...)

# y: the name of a response. A line for each centile, and of those at several levels of a category a colour
# for each; the band of the middle one is shaded, and participants placed among the curves are points.
plot.kronorm_centiles <- function(x, y = NULL, ..., xlab = over, ylab = y) {
  over <- attr(x, "over")
  if (is.null(over) || !all(c("response", over, "centile", "value") %in% names(x)))
    refuse("these are not complete curves, expected the result of centiles() with all columns")
  if (is.null(y))
    y <- x$response[1]
  if (!is.character(y) || length(y) != 1 || !y %in% x$response)
    refuse("y is ", if (is.character(y)) dQuote(y[1], FALSE) else describe(y),
           ", but must be the name of a response such as ", dQuote(x$response[1], FALSE))
  points <- attr(x, "points")
  points <- points[points$response == y, ]
  curves <- as.data.frame(x)[x$response == y, ]
  fixed <- setdiff(names(curves)[seq_len(match("centile", names(curves)) - 1)], c("response", over))
  varied <- fixed[vapply(fixed, function(name) length(unique(curves[[name]])) > 1, NA)]
  kind <- level_of(curves, varied)
  kinds <- unique(kind)
  plot(range(curves[[over]], points[[over]]), range(curves$value, points$value), type = "n", xlab = xlab, ylab = ylab, ...)
  for (k in seq_along(kinds))
    draw_curves(curves[kind == kinds[k], ], over, k)
  if (NROW(points))
    graphics::points(points[[over]], points$value, pch = 20, col = match(level_of(points, varied), kinds, 8L))
  if (length(kinds) > 1)
    graphics::legend("topright", kinds, col = seq_along(kinds), lty = 1, bty = "n")
  invisible(x)
}

# "F", or "F, Rome": what tells curves from each other.
level_of <- function(table, varied)
  if (length(varied)) do.call(paste, c(unname(as.list(table[varied])), sep = ", ")) else rep("", nrow(table))

draw_curves <- function(curves, over, colour) {
  centiles <- sort(unique(curves$centile))
  middle <- centiles[which.min(abs(centiles - 50))]
  one <- curves[curves$centile == middle, ]
  if (!anyNA(one$lower))
    graphics::polygon(c(one[[over]], rev(one[[over]])), c(one$lower, rev(one$upper)), border = NA,
                      col = grDevices::adjustcolor(colour, 0.15))
  for (p in centiles) {
    one <- curves[curves$centile == p, ]
    graphics::lines(one[[over]], one$value, col = colour, lwd = if (p == middle) 2 else 1)
  }
}
