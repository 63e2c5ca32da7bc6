#!/bin/sh
printf '%s\n' "pilothouse: nobody can answer here: ${1:-a program wants to ask something}" \
    "pilothouse: give the credentials beforehand (a key in the agent, a token, a filled credential helper)," \
    "pilothouse: or ask the user to run this command." >&2
exit 1
