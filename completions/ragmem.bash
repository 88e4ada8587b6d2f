# shellcheck shell=bash disable=SC1003
# Completion of ragmem in bash. Written by scripts/generate.py: do not edit.

_ragmem_split() {
    local line=${COMP_LINE:0:COMP_POINT} letter open='' begun='' word='' i
    words=() start=0
    for ((i = 0; i < ${#line}; i++)); do
        letter=${line:i:1}
        if [[ $letter == '\' && $open != "'" ]]; then
            ((i++))
            word+=${line:i:1} begun=1
        elif [[ -n $open ]]; then
            if [[ $letter == "$open" ]]; then open='' start=${#word}; else word+=$letter; fi
        elif [[ $letter == [\"\'] ]]; then
            open=$letter begun=1 start=${#word}
        elif [[ $letter == [[:space:]] ]]; then
            [[ -n $begun ]] && words+=("$word")
            word='' begun='' start=0
        else
            word+=$letter begun=1
            [[ $COMP_WORDBREAKS == *"$letter"* ]] && start=${#word}
        fi
    done
    cur=$word quote=$open
}

_ragmem_offer() {
    local text=$lead$1 apostrophe="'\\''"
    text=${text:start}
    case $quote in
        '"')
            text=${text//'\'/'\\'}
            text=${text//'"'/'\"'}
            text=${text//'$'/'\$'}
            text=${text//'`'/'\`'}
            ;;
        "'") text=${text//"'"/"$apostrophe"} ;;
        *) [[ -n $text ]] && printf -v text '%q' "$text" ;;
    esac
    COMPREPLY+=("$text")
}

_ragmem_words() {
    local word
    for word in "$@"; do
        [[ $word == "$cur"* ]] && _ragmem_offer "$word"
    done
}

_ragmem_known() {
    local value
    while IFS=$'\t' read -r value _; do
        _ragmem_offer "$value"
    done < <(ragmem __complete "$1" "$cur" 2>/dev/null)
}

# For values that say nothing by themselves: where several are listed, each with its hint. Readline then
# inserts what they begin with, which is within the values; where it inserts each in turn, they stand alone.
_ragmem_hinted() {
    local value hint values=() hints=() i
    while IFS=$'\t' read -r value hint; do
        values+=("$value") hints+=("$hint")
    done < <(ragmem __complete "$1" "$cur" 2>/dev/null)
    # Found by words of a title: behind a colon, readline would put only the end of a value in their place.
    [[ $start -gt 0 && ${values[0]-} != "$cur"* ]] && return
    local several=''
    ((${#values[@]} > 1)) && [[ ${COMP_TYPE:-9} != 37 && ${COMP_TYPE:-9} != 42 ]] && several=1
    for ((i = 0; i < ${#values[@]}; i++)); do
        if [[ -n $several && -z $lead$quote ]]; then
            COMPREPLY+=("${values[i]}${hints[i]:+  (${hints[i]})}")
        else
            _ragmem_offer "${values[i]}"
        fi
    done
    # Two ids that begin alike would leave that of the words of a title; a blank begins like none of them.
    [[ -n $several && ${values[0]-} != "$cur"* ]] && COMPREPLY+=(' ')
}

_ragmem_files() {
    local file
    # Readline's own completion of files is better; bash 3.2 cannot be asked for it here.
    compopt -o default 2>/dev/null && return
    while IFS= read -r file; do
        _ragmem_offer "$file"
    done < <(compgen -f -- "$cur")
}

_ragmem_folders() {
    local folder
    compopt -o dirnames 2>/dev/null && return
    while IFS= read -r folder; do
        _ragmem_offer "$folder"
    done < <(compgen -d -- "$cur")
}

_ragmem_is_command() {
    case "$1:$2" in
        ":setup"|":demo"|":seed"|":help"|":completions"|":query"|":context"|":check"|":ingest"|":record"|":import"|":share"|":approve"|":pin"|":feedback"|":inspect"|":projects"|":agents"|":connect"|":disconnect"|":refresh"|":serve"|":mcp"|":warm"|":doctor"|":gc"|":forget"|":scrub"|":backup"|":restore"|":export"|":store"|":models") : ;;
        "completions:show"|"completions:install") : ;;
        "share:status"|"share:push"|"share:fetch"|"share:withdraw"|"share:mute"|"share:unmute"|"share:conflicts"|"share:review") : ;;
        "share review:list"|"share review:show"|"share review:accept"|"share review:reject") : ;;
        "approve:list"|"approve:show"|"approve:accept"|"approve:reject"|"approve:draft") : ;;
        "inspect:stats"|"inspect:sources"|"inspect:memory"|"inspect:explore"|"inspect:memories"|"inspect:connections"|"inspect:history"|"inspect:entities"|"inspect:entity"|"inspect:path"|"inspect:communities"|"inspect:timeline"|"inspect:merges"|"inspect:graph"|"inspect:records"|"inspect:code"|"inspect:impact"|"inspect:lifecycle"|"inspect:plots"|"inspect:report"|"inspect:injections"|"inspect:queue"|"inspect:transcripts"|"inspect:config"|"inspect:usage"|"inspect:log"|"inspect:runs") : ;;
        "projects:list"|"projects:join"|"projects:split"|"projects:rename"|"projects:move"|"projects:assign") : ;;
        "agents:show"|"agents:heartbeat"|"agents:signal"|"agents:messages"|"agents:acknowledge"|"agents:publish"|"agents:events"|"agents:forget") : ;;
        "serve:members") : ;;
        "serve members:add"|"serve members:list"|"serve members:remove"|"serve members:rotate") : ;;
        "warm:status"|"warm:stop") : ;;
        "store:show"|"store:migrate") : ;;
        "models:list"|"models:use"|"models:resume"|"models:pull"|"models:remove"|"models:bundle"|"models:test") : ;;
        *) return 1 ;;
    esac
}

_ragmem_options() {
    case "$1" in
        "") _ragmem_words --version --offline -h --help ;;
        "setup") _ragmem_words --no-connect --no-transcripts --no-completions --dry-run -y --yes --json -h --help ;;
        "demo") _ragmem_words --keep -h --help ;;
        "seed") _ragmem_words -s --source --dry-run --check --rebuild --no-llm --no-wait --background --explain --json -q --quiet --sources --expect --junit --github --write-expect -h --help ;;
        "help") _ragmem_words --json -h --help ;;
        "completions") _ragmem_words --json -h --help ;;
        "completions show") _ragmem_words -h --help ;;
        "completions install") _ragmem_words --edit-rc --remove --dry-run --json -h --help ;;
        "query") _ragmem_words -n --limit -k --kind -s --source -p --project --spec -t --tag --type --category --since --until -a --all -m --mode -r --route --expand --careful --nearest --history --all-tiers --all-branches --session --explain --json --jsonl --ids --context -b --budget --max-chars --answer -q --quiet --sources -h --help ;;
        "context") _ragmem_words -b --budget --max-chars -p --project -a --all --session --prompt --json -q --quiet --sources -h --help ;;
        "check") _ragmem_words --rules --judge --no-judge --session --agent --for --list-rules --history --json -q --quiet -h --help ;;
        "ingest") _ragmem_words -k --kind -t --tag -p --project --spec --at --title --buffer --text --type --session --agent --jsonl --drain --code --rebuild --reset -y --yes --dry-run --explain --json -q --quiet -h --help ;;
        "record") _ragmem_words -f --field -t --tag -p --project --spec --at --dry-run --json -q --quiet -h --help ;;
        "import") _ragmem_words --from --keep --dry-run --json -q --quiet -h --help ;;
        "share") _ragmem_words --json -h --help ;;
        "share status") _ragmem_words --json -h --help ;;
        "share push") _ragmem_words --consent --dry-run -y --yes --json -q --quiet -h --help ;;
        "share fetch") _ragmem_words --json -q --quiet -h --help ;;
        "share withdraw") _ragmem_words --reason --json -h --help ;;
        "share mute") _ragmem_words -h --help ;;
        "share unmute") _ragmem_words -h --help ;;
        "share conflicts") _ragmem_words --json -h --help ;;
        "share review") _ragmem_words --json -h --help ;;
        "share review list") _ragmem_words --from --state -n --limit --json -h --help ;;
        "share review show") _ragmem_words --json -h --help ;;
        "share review accept") _ragmem_words --from -a --all --json -h --help ;;
        "share review reject") _ragmem_words --from -a --all --json -h --help ;;
        "approve") _ragmem_words --json -h --help ;;
        "approve list") _ragmem_words -p --project -a --all --state -n --limit --json -h --help ;;
        "approve show") _ragmem_words --json -h --help ;;
        "approve accept") _ragmem_words --to --json -h --help ;;
        "approve reject") _ragmem_words --json -h --help ;;
        "approve draft") _ragmem_words -p --project -a --all --json -h --help ;;
        "pin") _ragmem_words --off --json -h --help ;;
        "feedback") _ragmem_words --session --report -o --out --dry-run -y --yes --json -h --help ;;
        "inspect") _ragmem_words --json -h --help ;;
        "inspect stats") _ragmem_words --json -h --help ;;
        "inspect sources") _ragmem_words --json --sources -h --help ;;
        "inspect memory") _ragmem_words --json -h --help ;;
        "inspect explore") _ragmem_words --theme -h --help ;;
        "inspect memories") _ragmem_words -k --kind -s --source --state --tier --category -t --tag --since --until --order -p --project -a --all -n --limit --json -h --help ;;
        "inspect connections") _ragmem_words -p --project -a --all -n --limit --json -h --help ;;
        "inspect history") _ragmem_words --json -h --help ;;
        "inspect entities") _ragmem_words -p --project -a --all -n --limit --json -h --help ;;
        "inspect entity") _ragmem_words -p --project -a --all -n --limit --json -h --help ;;
        "inspect path") _ragmem_words -p --project -a --all -n --limit --json -h --help ;;
        "inspect communities") _ragmem_words --around -p --project -a --all -n --limit --json -h --help ;;
        "inspect timeline") _ragmem_words --since -p --project -a --all -n --limit --json -h --help ;;
        "inspect merges") _ragmem_words -p --project --undo --redo --undone --dry-run -n --limit --json -h --help ;;
        "inspect graph") _ragmem_words -e --export --around --depth -o --out --force -p --project -a --all -n --limit --json -h --help ;;
        "inspect records") _ragmem_words --type -p --project --spec --since -a --all -n --limit --json -h --help ;;
        "inspect code") _ragmem_words -p --project -n --limit --json -h --help ;;
        "inspect impact") _ragmem_words -d --depth -p --project -n --limit --svg -f --force --mermaid --json -h --help ;;
        "inspect lifecycle") _ragmem_words -p --project -a --all -n --limit --svg -f --force --json -h --help ;;
        "inspect plots") _ragmem_words -p --project -a --all --latency --private --at --json -h --help ;;
        "inspect report") _ragmem_words --html --svg -f --force --open -p --project -a --all --latency --private --at --json -h --help ;;
        "inspect injections") _ragmem_words --session --memory --since --by-moment -n --limit --json --jsonl -h --help ;;
        "inspect queue") _ragmem_words -n --limit --json -h --help ;;
        "inspect transcripts") _ragmem_words -n --limit --json -h --help ;;
        "inspect config") _ragmem_words --json --sources -h --help ;;
        "inspect usage") _ragmem_words --by --since -n --limit --json -h --help ;;
        "inspect log") _ragmem_words -n --limit --json -h --help ;;
        "inspect runs") _ragmem_words -n --limit --json -h --help ;;
        "projects") _ragmem_words --json -h --help ;;
        "projects list") _ragmem_words --json -h --help ;;
        "projects join") _ragmem_words --dry-run --json -q --quiet -h --help ;;
        "projects split") _ragmem_words --name --dry-run --json -q --quiet -h --help ;;
        "projects rename") _ragmem_words --dry-run --json -h --help ;;
        "projects move") _ragmem_words --dry-run --json -h --help ;;
        "projects assign") _ragmem_words --to --named --dry-run --json -q --quiet -h --help ;;
        "agents") _ragmem_words --json -h --help ;;
        "agents show") _ragmem_words --json -h --help ;;
        "agents heartbeat") _ragmem_words --status --task --progress --json -h --help ;;
        "agents signal") _ragmem_words --from --json -q --quiet -h --help ;;
        "agents messages") _ragmem_words --after --wait --ack --json -h --help ;;
        "agents acknowledge") _ragmem_words --json -h --help ;;
        "agents publish") _ragmem_words --from -h --help ;;
        "agents events") _ragmem_words --type --after --wait -f --follow --json -h --help ;;
        "agents forget") _ragmem_words -h --help ;;
        "connect") _ragmem_words --all --scope --no-mcp --handlers --dry-run --json -q --quiet -h --help ;;
        "disconnect") _ragmem_words --all --scope --dry-run --json -q --quiet -h --help ;;
        "refresh") _ragmem_words --file --for -p --project --max-lines --dry-run --check --json -q --quiet -h --help ;;
        "serve") _ragmem_words --host --port --allow-remote --team --cert --key --open --print-token --new-token --log-format --log-level --install --uninstall --dry-run -q --quiet -h --help ;;
        "serve members") _ragmem_words --json -h --help ;;
        "serve members add") _ragmem_words --role --project --json -q --quiet -h --help ;;
        "serve members list") _ragmem_words --json -h --help ;;
        "serve members remove") _ragmem_words -q --quiet -h --help ;;
        "serve members rotate") _ragmem_words --json -q --quiet -h --help ;;
        "mcp") _ragmem_words --profile --project --structured -h --help ;;
        "warm") _ragmem_words --json -h --help ;;
        "warm status") _ragmem_words --json -h --help ;;
        "warm stop") _ragmem_words -h --help ;;
        "doctor") _ragmem_words --deep --repair --dry-run -y --yes --read-only --updates --json -q --quiet -h --help ;;
        "gc") _ragmem_words --missing --undo --run --restore --purge --history -n --limit --show --only -p --project --all --budget --enable-idle --disable-idle --dry-run -y --yes --allow-large --json -q --quiet --sources -h --help ;;
        "forget") _ragmem_words -s --source -p --project --ingest --undo --purge --dry-run -y --yes --allow-large --json -q --quiet -h --help ;;
        "scrub") _ragmem_words -E --regex --backups --allow-large -f --force -y --yes --dry-run --json -q --quiet -h --help ;;
        "backup") _ragmem_words --keep -l --list -f --force --dry-run --json -q --quiet -h --help ;;
        "restore") _ragmem_words -y --yes --dry-run --json -q --quiet -h --help ;;
        "export") _ragmem_words -p --project -s --source -k --kind --since -f --force --dry-run --json -q --quiet -h --help ;;
        "store") _ragmem_words --json -h --help ;;
        "store show") _ragmem_words --json -h --help ;;
        "store migrate") _ragmem_words --to --url --merge --dry-run --json -q --quiet -h --help ;;
        "models") _ragmem_words --json -h --help ;;
        "models list") _ragmem_words --known --json -h --help ;;
        "models use") _ragmem_words --language --url --dimensions --key-variable --no-test --wait --dry-run --json -q --quiet -h --help ;;
        "models resume") _ragmem_words --json -q --quiet -h --help ;;
        "models pull") _ragmem_words --revision --from -y --yes --dry-run --json -q --quiet -h --help ;;
        "models remove") _ragmem_words -y --yes --dry-run --json -h --help ;;
        "models bundle") _ragmem_words --with --extras --no-wheels --wheels --platform --python-version --verify -f --force --dry-run --json -q --quiet -h --help ;;
        "models test") _ragmem_words --language --whole --json -q --quiet -h --help ;;
    esac
}

# Sets what completes the value of an option; an option without value sets nothing.
_ragmem_value() {
    case "$1:$2" in
        "demo:--keep") action=_ragmem_files ;;
        "seed:-s"|"seed:--source") action='_ragmem_known source' ;;
        "seed:--sources") action=_ragmem_files ;;
        "seed:--expect") action=_ragmem_files ;;
        "seed:--junit") action=_ragmem_files ;;
        "query:-n"|"query:--limit") action=: ;;
        "query:-k"|"query:--kind") action='_ragmem_words preference architecture error research general' ;;
        "query:-s"|"query:--source") action='_ragmem_known source' ;;
        "query:-p"|"query:--project") action='_ragmem_known project' ;;
        "query:--spec") action='_ragmem_known spec' ;;
        "query:-t"|"query:--tag") action='_ragmem_known tag' ;;
        "query:--type") action='_ragmem_words session_insight codebase_discovery pattern gotcha task_outcome root_cause user_correction knowledge episode' ;;
        "query:--category") action='_ragmem_words error_solution pattern best_practice gotcha none' ;;
        "query:--since") action=: ;;
        "query:--until") action=: ;;
        "query:-m"|"query:--mode") action='_ragmem_words local global hybrid naive mix' ;;
        "query:-r"|"query:--route") action='_ragmem_words auto knowledge episode operational recon code' ;;
        "query:--session") action='_ragmem_known session' ;;
        "query:-b"|"query:--budget") action=: ;;
        "query:--max-chars") action=: ;;
        "query:--sources") action=_ragmem_files ;;
        "context:-b"|"context:--budget") action=: ;;
        "context:--max-chars") action=: ;;
        "context:-p"|"context:--project") action='_ragmem_known project' ;;
        "context:--session") action='_ragmem_known session' ;;
        "context:--prompt") action=: ;;
        "context:--sources") action=_ragmem_files ;;
        "check:--rules") action=_ragmem_files ;;
        "check:--session") action='_ragmem_known session' ;;
        "check:--agent") action=: ;;
        "check:--for") action='_ragmem_words claude-code codex cursor gemini opencode copilot' ;;
        "ingest:-k"|"ingest:--kind") action='_ragmem_words preference architecture error research general' ;;
        "ingest:-t"|"ingest:--tag") action='_ragmem_known tag' ;;
        "ingest:-p"|"ingest:--project") action='_ragmem_known project' ;;
        "ingest:--spec") action='_ragmem_known spec' ;;
        "ingest:--at") action=: ;;
        "ingest:--title") action=: ;;
        "ingest:--text") action=: ;;
        "ingest:--type") action='_ragmem_words decision thought insight error session note' ;;
        "ingest:--session") action='_ragmem_known session' ;;
        "ingest:--agent") action=: ;;
        "record:-f"|"record:--field") action=: ;;
        "record:-t"|"record:--tag") action='_ragmem_known tag' ;;
        "record:-p"|"record:--project") action='_ragmem_known project' ;;
        "record:--spec") action='_ragmem_known spec' ;;
        "record:--at") action=: ;;
        "import:--from") action='_ragmem_words claude-mem mem0 basic-memory mcp-memory-service mempalace chatgpt claude-ai cursor opencode' ;;
        "import:--keep") action='_ragmem_words newer existing incoming' ;;
        "share push:--consent") action='_ragmem_hinted memory' ;;
        "share withdraw:--reason") action=: ;;
        "share review list:--from") action='_ragmem_known member' ;;
        "share review list:--state") action='_ragmem_words proposed accepted rejected' ;;
        "share review list:-n"|"share review list:--limit") action=: ;;
        "share review accept:--from") action='_ragmem_known member' ;;
        "share review reject:--from") action='_ragmem_known member' ;;
        "approve list:-p"|"approve list:--project") action='_ragmem_known project' ;;
        "approve list:--state") action='_ragmem_words proposed accepted rejected' ;;
        "approve list:-n"|"approve list:--limit") action=: ;;
        "approve accept:--to") action=_ragmem_folders ;;
        "approve draft:-p"|"approve draft:--project") action='_ragmem_known project' ;;
        "feedback:--session") action='_ragmem_known session' ;;
        "feedback:-o"|"feedback:--out") action=_ragmem_files ;;
        "inspect sources:--sources") action=_ragmem_files ;;
        "inspect explore:--theme") action='_ragmem_words auto dark light' ;;
        "inspect memories:-k"|"inspect memories:--kind") action='_ragmem_words preference architecture error research general' ;;
        "inspect memories:-s"|"inspect memories:--source") action='_ragmem_known source' ;;
        "inspect memories:--state") action='_ragmem_words pending indexed buffered' ;;
        "inspect memories:--tier") action='_ragmem_words ingest summarize discard' ;;
        "inspect memories:--category") action='_ragmem_words error_solution pattern best_practice gotcha none' ;;
        "inspect memories:-t"|"inspect memories:--tag") action='_ragmem_known tag' ;;
        "inspect memories:--since") action=: ;;
        "inspect memories:--until") action=: ;;
        "inspect memories:--order") action='_ragmem_words newest oldest changed' ;;
        "inspect memories:-p"|"inspect memories:--project") action='_ragmem_known project' ;;
        "inspect memories:-n"|"inspect memories:--limit") action=: ;;
        "inspect connections:-p"|"inspect connections:--project") action='_ragmem_known project' ;;
        "inspect connections:-n"|"inspect connections:--limit") action=: ;;
        "inspect entities:-p"|"inspect entities:--project") action='_ragmem_known project' ;;
        "inspect entities:-n"|"inspect entities:--limit") action=: ;;
        "inspect entity:-p"|"inspect entity:--project") action='_ragmem_known project' ;;
        "inspect entity:-n"|"inspect entity:--limit") action=: ;;
        "inspect path:-p"|"inspect path:--project") action='_ragmem_known project' ;;
        "inspect path:-n"|"inspect path:--limit") action=: ;;
        "inspect communities:--around") action='_ragmem_known entity' ;;
        "inspect communities:-p"|"inspect communities:--project") action='_ragmem_known project' ;;
        "inspect communities:-n"|"inspect communities:--limit") action=: ;;
        "inspect timeline:--since") action=: ;;
        "inspect timeline:-p"|"inspect timeline:--project") action='_ragmem_known project' ;;
        "inspect timeline:-n"|"inspect timeline:--limit") action=: ;;
        "inspect merges:-p"|"inspect merges:--project") action='_ragmem_known project' ;;
        "inspect merges:--undo") action='_ragmem_hinted merge' ;;
        "inspect merges:--redo") action='_ragmem_hinted undone' ;;
        "inspect merges:-n"|"inspect merges:--limit") action=: ;;
        "inspect graph:-e"|"inspect graph:--export") action='_ragmem_words graphml json mermaid' ;;
        "inspect graph:--around") action='_ragmem_known entity' ;;
        "inspect graph:--depth") action=: ;;
        "inspect graph:-o"|"inspect graph:--out") action=_ragmem_files ;;
        "inspect graph:-p"|"inspect graph:--project") action='_ragmem_known project' ;;
        "inspect graph:-n"|"inspect graph:--limit") action=: ;;
        "inspect records:--type") action='_ragmem_words session_insight codebase_discovery pattern gotcha task_outcome root_cause user_correction knowledge episode' ;;
        "inspect records:-p"|"inspect records:--project") action='_ragmem_known project' ;;
        "inspect records:--spec") action='_ragmem_known spec' ;;
        "inspect records:--since") action=: ;;
        "inspect records:-n"|"inspect records:--limit") action=: ;;
        "inspect code:-p"|"inspect code:--project") action='_ragmem_known project' ;;
        "inspect code:-n"|"inspect code:--limit") action=: ;;
        "inspect impact:-d"|"inspect impact:--depth") action=: ;;
        "inspect impact:-p"|"inspect impact:--project") action='_ragmem_known project' ;;
        "inspect impact:-n"|"inspect impact:--limit") action=: ;;
        "inspect impact:--svg") action=_ragmem_files ;;
        "inspect lifecycle:-p"|"inspect lifecycle:--project") action='_ragmem_known project' ;;
        "inspect lifecycle:-n"|"inspect lifecycle:--limit") action=: ;;
        "inspect lifecycle:--svg") action=_ragmem_files ;;
        "inspect plots:-p"|"inspect plots:--project") action='_ragmem_known project' ;;
        "inspect plots:--at") action=: ;;
        "inspect report:--html") action=_ragmem_files ;;
        "inspect report:--svg") action=_ragmem_files ;;
        "inspect report:-p"|"inspect report:--project") action='_ragmem_known project' ;;
        "inspect report:--at") action=: ;;
        "inspect injections:--session") action='_ragmem_known session' ;;
        "inspect injections:--memory") action='_ragmem_hinted memory' ;;
        "inspect injections:--since") action=: ;;
        "inspect injections:-n"|"inspect injections:--limit") action=: ;;
        "inspect queue:-n"|"inspect queue:--limit") action=: ;;
        "inspect transcripts:-n"|"inspect transcripts:--limit") action=: ;;
        "inspect config:--sources") action=_ragmem_files ;;
        "inspect usage:--by") action='_ragmem_words day model purpose' ;;
        "inspect usage:--since") action=: ;;
        "inspect usage:-n"|"inspect usage:--limit") action=: ;;
        "inspect log:-n"|"inspect log:--limit") action=: ;;
        "inspect runs:-n"|"inspect runs:--limit") action=: ;;
        "projects split:--name") action=: ;;
        "projects assign:--to") action='_ragmem_known project' ;;
        "agents heartbeat:--status") action=: ;;
        "agents heartbeat:--task") action=: ;;
        "agents heartbeat:--progress") action=: ;;
        "agents signal:--from") action='_ragmem_known agent' ;;
        "agents messages:--after") action=: ;;
        "agents messages:--wait") action=: ;;
        "agents publish:--from") action='_ragmem_known agent' ;;
        "agents events:--type") action='_ragmem_known event' ;;
        "agents events:--after") action=: ;;
        "agents events:--wait") action=: ;;
        "connect:--scope") action='_ragmem_words user project' ;;
        "connect:--handlers") action='_ragmem_words command mcp http' ;;
        "disconnect:--scope") action='_ragmem_words user project' ;;
        "refresh:--file") action=_ragmem_files ;;
        "refresh:--for") action='_ragmem_words claude-code codex cursor gemini opencode copilot' ;;
        "refresh:-p"|"refresh:--project") action='_ragmem_known project' ;;
        "refresh:--max-lines") action=: ;;
        "serve:--host") action=: ;;
        "serve:--port") action=: ;;
        "serve:--cert") action=_ragmem_files ;;
        "serve:--key") action=_ragmem_files ;;
        "serve:--log-format") action='_ragmem_words text json' ;;
        "serve:--log-level") action='_ragmem_words debug info warning error' ;;
        "serve members add:--role") action='_ragmem_words reader writer admin' ;;
        "serve members add:--project") action='_ragmem_known project' ;;
        "mcp:--profile") action='_ragmem_words default full' ;;
        "mcp:--project") action=_ragmem_folders ;;
        "gc:--run") action='_ragmem_hinted run' ;;
        "gc:--restore") action='_ragmem_hinted archived' ;;
        "gc:-n"|"gc:--limit") action=: ;;
        "gc:--show") action='_ragmem_hinted memory' ;;
        "gc:--only") action='_ragmem_known rule' ;;
        "gc:-p"|"gc:--project") action='_ragmem_known project' ;;
        "gc:--budget") action=: ;;
        "gc:--sources") action=_ragmem_files ;;
        "forget:-s"|"forget:--source") action='_ragmem_known source' ;;
        "forget:-p"|"forget:--project") action='_ragmem_known project' ;;
        "forget:--ingest") action='_ragmem_hinted ingested' ;;
        "forget:--undo") action='_ragmem_hinted run' ;;
        "scrub:--backups") action='_ragmem_words rewrite delete keep' ;;
        "backup:--keep") action=: ;;
        "export:-p"|"export:--project") action='_ragmem_known project' ;;
        "export:-s"|"export:--source") action='_ragmem_known source' ;;
        "export:-k"|"export:--kind") action='_ragmem_words preference architecture error research general' ;;
        "export:--since") action=: ;;
        "store migrate:--to") action='_ragmem_words sqlite json postgres custom' ;;
        "store migrate:--url") action=: ;;
        "models use:--url") action=: ;;
        "models use:--dimensions") action=: ;;
        "models use:--key-variable") action=: ;;
        "models pull:--revision") action=: ;;
        "models pull:--from") action=: ;;
        "models bundle:--with") action='_ragmem_known model' ;;
        "models bundle:--extras") action=: ;;
        "models bundle:--wheels") action=_ragmem_folders ;;
        "models bundle:--platform") action=: ;;
        "models bundle:--python-version") action=: ;;
    esac
}

# Sets what completes an argument: $1 the command, $2 how many arguments stand before it.
_ragmem_argument() {
    case "$1:$2" in
        ":0") _ragmem_words setup demo seed help completions query context check ingest record import share approve pin feedback inspect projects agents connect disconnect refresh serve mcp warm doctor gc forget scrub backup restore export store models ;;
        "setup:"*) action='_ragmem_words claude-code codex cursor gemini opencode copilot' ;;
        "help:"*) action='_ragmem_known topic' ;;
        "completions:0") _ragmem_words show install ;;
        "completions show:0") action='_ragmem_words bash zsh fish' ;;
        "completions install:0") action='_ragmem_words bash zsh fish' ;;
        "check:0") action=_ragmem_files ;;
        "ingest:"*) action=_ragmem_files ;;
        "record:0") action='_ragmem_words session_insight codebase_discovery pattern gotcha task_outcome root_cause user_correction knowledge episode decision' ;;
        "import:0") action=_ragmem_files ;;
        "share:0") _ragmem_words status push fetch withdraw mute unmute conflicts review ;;
        "share push:"*) action='_ragmem_hinted memory' ;;
        "share withdraw:"*) action='_ragmem_hinted memory' ;;
        "share mute:0") action='_ragmem_known member' ;;
        "share unmute:0") action='_ragmem_known member' ;;
        "share review:0") _ragmem_words list show accept reject ;;
        "share review show:0") action='_ragmem_known shared' ;;
        "share review accept:"*) action='_ragmem_known shared' ;;
        "share review reject:"*) action='_ragmem_known shared' ;;
        "approve:0") _ragmem_words list show accept reject draft ;;
        "approve show:0") action='_ragmem_known proposal' ;;
        "approve accept:"*) action='_ragmem_known proposal' ;;
        "approve reject:"*) action='_ragmem_known proposal' ;;
        "pin:0") action='_ragmem_hinted memory' ;;
        "feedback:0") action='_ragmem_hinted memory' ;;
        "feedback:1") action='_ragmem_words good bad' ;;
        "inspect:0") _ragmem_words stats sources memory explore memories connections history entities entity path communities timeline merges graph records code impact lifecycle plots report injections queue transcripts config usage log runs ;;
        "inspect memory:0") action='_ragmem_hinted memory' ;;
        "inspect connections:0") action='_ragmem_hinted memory' ;;
        "inspect history:0") action='_ragmem_hinted memory' ;;
        "inspect entities:0") action='_ragmem_known entity' ;;
        "inspect entity:0") action='_ragmem_known entity' ;;
        "inspect path:0") action='_ragmem_known entity' ;;
        "inspect path:1") action='_ragmem_known entity' ;;
        "inspect timeline:0") action='_ragmem_known entity' ;;
        "inspect merges:0") action='_ragmem_known entity' ;;
        "inspect code:0") action='_ragmem_known symbol' ;;
        "inspect impact:0") action='_ragmem_known symbol' ;;
        "inspect plots:"*) action='_ragmem_words decay ages weeks growth tiers sources projects degree topics connections states kept archive recalls injections gc latency' ;;
        "projects:0") _ragmem_words list join split rename move assign ;;
        "projects join:0") action='_ragmem_known real-project' ;;
        "projects join:1") action='_ragmem_known real-project' ;;
        "projects split:0") action='_ragmem_known real-project' ;;
        "projects split:1") action='_ragmem_known part' ;;
        "projects rename:0") action='_ragmem_known real-project' ;;
        "projects move:0") action='_ragmem_known folder' ;;
        "projects move:1") action=_ragmem_files ;;
        "projects assign:"*) action='_ragmem_hinted memory' ;;
        "agents:0") _ragmem_words show heartbeat signal messages acknowledge publish events forget ;;
        "agents heartbeat:0") action='_ragmem_known agent' ;;
        "agents signal:0") action='_ragmem_words stop pause resume message' ;;
        "agents signal:1") action='_ragmem_known agent' ;;
        "agents messages:0") action='_ragmem_known agent' ;;
        "agents acknowledge:0") action='_ragmem_known agent' ;;
        "agents publish:0") action='_ragmem_known event' ;;
        "agents forget:0") action='_ragmem_known agent' ;;
        "connect:"*) action='_ragmem_words claude-code codex cursor gemini opencode copilot' ;;
        "disconnect:"*) action='_ragmem_words claude-code codex cursor gemini opencode copilot' ;;
        "serve:0") _ragmem_words members ;;
        "serve members:0") _ragmem_words add list remove rotate ;;
        "warm:0") _ragmem_words status stop ;;
        "forget:"*) action='_ragmem_hinted memory' ;;
        "backup:0") action=_ragmem_files ;;
        "restore:0") action=_ragmem_files ;;
        "export:0") action=_ragmem_files ;;
        "store:0") _ragmem_words show migrate ;;
        "models:0") _ragmem_words list use resume pull remove bundle test ;;
        "models use:0") action='_ragmem_known model' ;;
        "models pull:0") action='_ragmem_known model' ;;
        "models remove:0") action='_ragmem_known model' ;;
        "models bundle:0") action=_ragmem_files ;;
        "models test:"*) action='_ragmem_known model' ;;
    esac
}

_ragmem() {
    local cur='' quote='' start=0 lead='' words at='' count=0 action='' plain='' word
    COMPREPLY=()
    _ragmem_split
    for word in "${words[@]:1}"; do
        if [[ -n $action ]]; then
            action=''
        elif [[ -z $plain && $word == -- ]]; then
            plain=1
        elif [[ -z $plain && $word == -* ]]; then
            _ragmem_value "$at" "$word"
        elif ((count == 0)) && _ragmem_is_command "$at" "$word"; then
            at=${at:+$at }$word
        else
            ((count++))
        fi
    done
    if [[ -z $action && -z $plain && $cur == -* ]]; then
        if [[ $cur == --*=* ]]; then
            lead=${cur%%=*}=
            _ragmem_value "$at" "${lead%=}"
            cur=${cur#*=}
        else
            _ragmem_options "$at"
            return
        fi
    fi
    [[ -n $action || -n $lead ]] || _ragmem_argument "$at" "$count"
    $action
}

complete -o nosort -F _ragmem ragmem 2>/dev/null || complete -F _ragmem ragmem
