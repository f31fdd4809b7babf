/* The commands, one file each. */
#ifndef KN_CLI_COMMANDS_H
#define KN_CLI_COMMANDS_H

int cmd_fit(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_score(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_reproduce(int argc, char **argv);

#endif
