/* What others wrote, made fit for a terminal or a log. */
#ifndef KN_BASE_SANITIZE_TEXT_H
#define KN_BASE_SANITIZE_TEXT_H

/* In place: every control character becomes '?', those of UTF-8 beyond ASCII (U+0080 to U+009F)
 * too. A path or a cell could otherwise move the cursor, or look like a second message. */
void kn_sanitize_text(char *text);

#endif
