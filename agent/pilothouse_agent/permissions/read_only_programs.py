"""Data: programs that change nothing when used with these options.

An option belongs here only when it neither writes a file nor runs a program nor changes a setting.
"""

from __future__ import annotations

from pilothouse_agent.permissions.accepted_options import AcceptedOptions

__all__ = ["ANY_OPTIONS", "GIT", "PROGRAMS", "VERSION_ONLY"]

ANY_OPTIONS = frozenset(
    {
        ":",
        "basename",
        "cat",
        "cd",
        "cksum",
        "cmp",
        "comm",
        "cut",
        "df",
        "diff",
        "dirname",
        "du",
        "echo",
        "egrep",
        "expand",
        "false",
        "fgrep",
        "fold",
        "grep",
        "head",
        "join",
        "jq",
        "ls",
        "md5sum",
        "nl",
        "nproc",
        "od",
        "paste",
        "pwd",
        "readlink",
        "realpath",
        "rev",
        "seq",
        "sha1sum",
        "sha256sum",
        "sha512sum",
        "sleep",
        "stat",
        "tac",
        "tail",
        "tr",
        "true",
        "type",
        "uname",
        "unexpand",
        "wc",
        "which",
        "whoami",
    }
)

VERSION_ONLY = frozenset({"clang", "cmake", "gcc", "java", "make", "node", "npm", "pip", "python", "python3"})
"""Accepted with `--version` alone."""

PROGRAMS = {
    "command": AcceptedOptions(flags="vV"),
    "file": AcceptedOptions(
        flags="bhiLNprsz0", words="--brief --mime --mime-type --mime-encoding --dereference"
    ),
    "find": AcceptedOptions(
        words="-H -L -P -amin= -and -anewer= -atime= -cmin= -cnewer= -ctime= -daystart -depth -empty "
        "-executable -false -follow -fstype= -gid= -group= -ilname= -iname= -inum= -ipath= -iregex= "
        "-iwholename= -links= -lname= -ls -maxdepth= -mindepth= -mmin= -mount -mtime= -name= -newer= "
        "-nogroup -not -nouser -o -a -or -path= -perm= -print -print0 -printf= -prune -quit -readable "
        "-regex= -regextype= -samefile= -size= -true -type= -uid= -user= -wholename= -writable -xdev -xtype="
    ),
    "rg": AcceptedOptions(
        flags="0FHILNPSUacehiloqsuvwxnp.",
        valued="ABCEMTdegmrtj",
        words="--after-context= --before-context= --context= --case-sensitive --color= --column --count "
        "--count-matches --encoding= --engine= --files --files-with-matches --files-without-match "
        "--fixed-strings --follow --glob= --heading --hidden --iglob= --ignore-case --invert-match --json "
        "--line-number --line-regexp --max-columns= --max-count= --max-depth= --max-filesize= --multiline "
        "--multiline-dotall --no-config --no-filename --no-heading --no-ignore --no-ignore-vcs "
        "--no-line-number --no-messages --null --only-matching --passthru --pcre2 --pretty --quiet "
        "--regexp= --replace= --smart-case --sort= --sortr= --stats --text --threads= --trim --type= "
        "--type-list --type-not= --unrestricted --version --vimgrep --with-filename --word-regexp",
    ),
    "sort": AcceptedOptions(
        flags="bdfghiMnRrVcCmsuz",
        valued="ktS",
        words="--check --field-separator= --general-numeric-sort --human-numeric-sort --ignore-case "
        "--ignore-leading-blanks --key= --merge --month-sort --numeric-sort --reverse --stable --unique "
        "--version-sort --zero-terminated",
    ),
    "tree": AcceptedOptions(
        flags="adfilCDFhnpqrstuvx", words="-I= -L= -P= --dirsfirst --noreport --gitignore"
    ),
    "uniq": AcceptedOptions(
        flags="cdDiuz",
        valued="fsw",
        words="--count --ignore-case --repeated --unique --skip-fields= --skip-chars= --check-chars=",
        operands=1,
    ),
    "xxd": AcceptedOptions(words="-a -b -C -c= -d -e -g= -i -l= -o= -p -ps -s= -u", operands=1),
}

_COMMITS = (
    "--abbrev-commit --after= --all --author= --before= --branches --cherry-pick --date-order --date= "
    "--decorate --decorate= --first-parent --follow --format= --graph --grep= --left-right --max-count= "
    "--merges --no-decorate --no-merges --oneline --pretty --pretty= --regexp-ignore-case --remotes "
    "--reverse --since= --skip= --tags --topo-order --until= "
)
_CHANGES = (
    "--binary --cached --check --color --color= --diff-filter= --dirstat --exit-code --find-copies "
    "--find-renames --full-index --function-context --histogram --ignore-all-space --ignore-blank-lines "
    "--ignore-space-at-eol --ignore-space-change --merge-base --minimal --name-only --name-status "
    "--no-color --no-ext-diff --no-patch --no-renames --no-textconv --numstat --patch --patch-with-stat "
    "--patience --quiet --raw --relative --relative= --shortstat --staged --stat --stat= --summary --text "
    "--unified= --word-diff --word-diff= "
)
_REFS = (
    "--column --no-column --color --no-color --contains= --format= --ignore-case --merged= --no-contains= "
    "--no-merged= --points-at= --sort= "
)
_DIFF = AcceptedOptions(flags="abpqRsuwzWMC", valued="UGS", words=_CHANGES)
_LOG = AcceptedOptions(flags="abipqsuwzWMCEFP", valued="nUGSL", words=_COMMITS + _CHANGES, digits=True)

GIT = {
    "blame": AcceptedOptions(
        flags="bcefklnpstwMC", valued="L", words="--date= --line-porcelain --porcelain --root --show-email"
    ),
    "branch": AcceptedOptions(
        flags="alrvi",
        words=_REFS + "--abbrev= --all --list --remotes --show-current --verbose",
        operands_need="--list",
    ),
    "cat-file": AcceptedOptions(flags="epst"),
    "check-ignore": AcceptedOptions(flags="vnqz", words="--verbose --non-matching --no-index"),
    "config": AcceptedOptions(
        flags="lz",
        words="--get --get-all --get-regexp --global --list --local --name-only --show-origin --show-scope "
        "--system --worktree",
        operands_need="--get --get-all --get-regexp",
    ),
    "count-objects": AcceptedOptions(flags="vH"),
    "describe": AcceptedOptions(
        words="--abbrev= --all --always --contains --dirty --exact-match --long --tags"
    ),
    "diff": _DIFF,
    "diff-tree": _LOG,
    "for-each-ref": AcceptedOptions(words=_REFS + "--count="),
    "grep": AcceptedOptions(
        flags="EFGHIPachilLnopqrvwWz",
        valued="ABCefm",
        words="--all-match --and --cached --count --files-with-matches --files-without-match --fixed-strings "
        "--ignore-case --line-number --name-only --not --or --recursive --untracked --word-regexp",
    ),
    "log": _LOG,
    "ls-files": AcceptedOptions(
        flags="cdmostuvz",
        valued="x",
        words="--cached --deleted --exclude-standard --exclude= --full-name --ignored --modified --others "
        "--stage --unmerged",
    ),
    "ls-tree": AcceptedOptions(
        flags="drtlz", words="--full-name --full-tree --long --name-only --name-status"
    ),
    "merge-base": AcceptedOptions(
        flags="a", words="--all --fork-point --independent --is-ancestor --octopus"
    ),
    "name-rev": AcceptedOptions(words="--name-only --tags"),
    "reflog show": _LOG,
    "remote": AcceptedOptions(flags="v", words="--verbose", operands=0),
    "remote get-url": AcceptedOptions(words="--all --push"),
    "rev-list": AcceptedOptions(flags="n", words=_COMMITS + "--count --objects", digits=True),
    "rev-parse": AcceptedOptions(
        flags="q",
        words="--abbrev-ref --absolute-git-dir --all --git-common-dir --git-dir --is-bare-repository "
        "--is-inside-git-dir --is-inside-work-tree --quiet --short --short= --show-cdup --show-prefix "
        "--show-superproject-working-tree --show-toplevel --symbolic-full-name --verify",
    ),
    "shortlog": AcceptedOptions(flags="ens", words=_COMMITS + "--email --numbered --summary"),
    "show": _LOG,
    "show-ref": AcceptedOptions(flags="dhqs", words="--dereference --hash --head --heads --tags --verify"),
    "stash list": _LOG,
    "stash show": _DIFF,
    "status": AcceptedOptions(
        flags="bsvz",
        valued="u",
        words="--branch --column --ignored --ignored= --long --porcelain --porcelain= --short --show-stash "
        "--untracked-files --untracked-files= --verbose",
    ),
    "tag": AcceptedOptions(flags="ln", words=_REFS + "--list", operands_need="-l --list"),
    "version": AcceptedOptions(),
    "worktree list": AcceptedOptions(flags="vz", words="--porcelain --verbose"),
}
