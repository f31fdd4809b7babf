/* Makes text from files and command lines safe to print on a terminal or in a log. */
#ifndef KN_BASE_SANITIZE_TEXT_H
#define KN_BASE_SANITIZE_TEXT_H

/* Replaces every control character by '?', in place, including U+0080 to U+009F in UTF-8 (two '?'
 * each). A path or a table cell could otherwise move the cursor or look like a second message. */
void kn_sanitize_text(char *text);

#endif
