#include "report/lettering.h"

#include <string.h>

enum { INK = 128, ACROSS = 5 }; /* readable on a light page and on a dark one */

static const char LETTERS[] = "0123456789-.LRxyz";
static const char SHAPES[][KN_LETTER_HEIGHT][ACROSS + 1] = {
    {" ### ", "#   #", "#   #", "#   #", "#   #", "#   #", " ### "},
    {"  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "},
    {" ### ", "#   #", "    #", "   # ", "  #  ", " #   ", "#####"},
    {" ### ", "#   #", "    #", "  ## ", "    #", "#   #", " ### "},
    {"   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "},
    {"#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "},
    {"  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### "},
    {"#####", "    #", "   # ", "  #  ", "  #  ", "  #  ", "  #  "},
    {" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "},
    {" ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  "},
    {"     ", "     ", "     ", " ### ", "     ", "     ", "     "},
    {"     ", "     ", "     ", "     ", "     ", " ##  ", " ##  "},
    {"#    ", "#    ", "#    ", "#    ", "#    ", "#    ", "#####"},
    {"#### ", "#   #", "#   #", "#### ", "# #  ", "#  # ", "#   #"},
    {"     ", "     ", "#   #", " # # ", "  #  ", " # # ", "#   #"},
    {"     ", "     ", "#   #", "#   #", " ####", "    #", " ### "},
    {"     ", "     ", "#####", "   # ", "  #  ", " #   ", "#####"},
};

void kn_letter(uint8_t *grey, ptrdiff_t width, ptrdiff_t height, ptrdiff_t x, ptrdiff_t y,
               const char *text)
{
    for (; *text; text++, x += KN_LETTER_WIDTH) {
        const char *found = strchr(LETTERS, *text);
        for (ptrdiff_t row = 0; found && row < KN_LETTER_HEIGHT; row++)
            for (ptrdiff_t column = 0; column < ACROSS; column++)
                if (SHAPES[found - LETTERS][row][column] == '#' && x + column >= 0 &&
                    x + column < width && y + row >= 0 && y + row < height)
                    grey[(y + row) * width + x + column] = INK;
    }
}
