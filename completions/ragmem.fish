# Completion of ragmem in fish. Written by scripts/generate.py: do not edit.

# True where the words before the cursor begin with this path of commands, and, after `--`, where no further
# command of the path was named.
function __ragmem_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l words (string match -v -- '-*' $words)
    set -l path (string match -v -- -- $argv)
    test (count $words) -ge (count $path); or return 1
    for number in (seq (count $path))
        test "$words[$number]" = "$path[$number]"; or return 1
    end
    not contains -- -- $argv; or test (count $words) -eq (count $path)
end

function __ragmem_known
    set -l token (string replace -r '^--[a-z-]+=' '' -- (commandline -ct))
    set -l prefix (string unescape -- $token 2>/dev/null)
    # A quote that is still open cannot be unescaped.
    or set prefix (string replace -ra '["\'\\\\]' '' -- $token)
    ragmem __complete $argv[1] "$prefix" 2>/dev/null
end

complete -c ragmem -f
complete -c ragmem -n '__ragmem_at --' -a seed -d 'Bring the memory up to date with the sources on disk.'
complete -c ragmem -n '__ragmem_at --' -a ingest -d 'Store files, folders or standard input.'
complete -c ragmem -n '__ragmem_at --' -a query -d 'Find the memories that answer a question.'
complete -c ragmem -n '__ragmem_at --' -a gc -d 'Remove what is doubled, broken or gone; undo it.'
complete -c ragmem -n '__ragmem_at --' -a inspect -d 'Look into the memory: numbers, memories, entities, settings.'
complete -c ragmem -n '__ragmem_at --' -a export -d 'Write the memory out as JSON Lines, whole and verbatim.'
complete -c ragmem -n '__ragmem_at --' -a import -d 'Bring in what an export holds, twice as well as once.'
complete -c ragmem -n '__ragmem_at --' -a serve -d 'Answer over HTTP on this machine.'
complete -c ragmem -n '__ragmem_at --' -l version -d 'Show the version and exit.'
complete -c ragmem -n '__ragmem_at --' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at seed' -s s -l source -x -k -a '(__ragmem_known source)' -d 'Only this source; repeatable.'
complete -c ragmem -n '__ragmem_at seed' -l dry-run -d 'Show what would be done, change nothing.'
complete -c ragmem -n '__ragmem_at seed' -l check -d 'Change nothing; exit 1 if anything would change.'
complete -c ragmem -n '__ragmem_at seed' -l rebuild -d 'Read every file again; make all vectors and the graph anew.'
complete -c ragmem -n '__ragmem_at seed' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at seed' -s q -l quiet -d 'Errors only on standard error.'
complete -c ragmem -n '__ragmem_at seed' -l sources -r -F -d 'Use this sources.toml alone.'
complete -c ragmem -n '__ragmem_at seed' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at ingest' -s k -l kind -x -a 'preference architecture error research general' -d 'The kind of all of them; else each is judged.'
complete -c ragmem -n '__ragmem_at ingest' -s t -l tag -x -k -a '(__ragmem_known tag)' -d 'A tag for all of them; repeatable.'
complete -c ragmem -n '__ragmem_at ingest' -s p -l project -x -k -a '(__ragmem_known project)' -d 'The project they belong to, or user; else the folder\'s.'
complete -c ragmem -n '__ragmem_at ingest' -l spec -x -d 'The spec within the project.'
complete -c ragmem -n '__ragmem_at ingest' -l at -x -d 'When it happened: 2026-03-15, 7d, yesterday.'
complete -c ragmem -n '__ragmem_at ingest' -l title -x -d 'A title for standard input.'
complete -c ragmem -n '__ragmem_at ingest' -l dry-run -d 'Show what would be done, change nothing.'
complete -c ragmem -n '__ragmem_at ingest' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at ingest' -s q -l quiet -d 'Errors only on standard error.'
complete -c ragmem -n '__ragmem_at ingest' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at ingest' -F
complete -c ragmem -n '__ragmem_at query' -s n -l limit -x -d 'At most so many.'
complete -c ragmem -n '__ragmem_at query' -s k -l kind -x -a 'preference architecture error research general' -d 'Only memories of this kind; repeatable.'
complete -c ragmem -n '__ragmem_at query' -s s -l source -x -k -a '(__ragmem_known source)' -d 'Only memories of this source; repeatable.'
complete -c ragmem -n '__ragmem_at query' -s p -l project -x -k -a '(__ragmem_known project)' -d 'Only this project: name, id or path.'
complete -c ragmem -n '__ragmem_at query' -l spec -x -d 'Only this spec of the project.'
complete -c ragmem -n '__ragmem_at query' -s t -l tag -x -k -a '(__ragmem_known tag)' -d 'Only with this tag; repeatable.'
complete -c ragmem -n '__ragmem_at query' -l since -x -d 'Only what happened since: 2026-03-15, 7d, 3w, 6m.'
complete -c ragmem -n '__ragmem_at query' -s a -l all -d 'All projects, not only this one and yours.'
complete -c ragmem -n '__ragmem_at query' -s m -l mode -x -a 'local global hybrid naive mix' -d 'Let LightRAG retrieve in one of its own modes.'
complete -c ragmem -n '__ragmem_at query' -l explain -d 'Show each term of each score.'
complete -c ragmem -n '__ragmem_at query' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at query' -l jsonl -d 'One JSON object a line.'
complete -c ragmem -n '__ragmem_at query' -l ids -d 'Only the ids, one a line.'
complete -c ragmem -n '__ragmem_at query' -l context -d 'The block that an assistant reads.'
complete -c ragmem -n '__ragmem_at query' -l max-chars -x -d 'Characters of the --context block at most.'
complete -c ragmem -n '__ragmem_at query' -s q -l quiet -d 'Errors only on standard error.'
complete -c ragmem -n '__ragmem_at query' -l sources -r -F -d 'Use this sources.toml alone.'
complete -c ragmem -n '__ragmem_at query' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at gc' -l missing -d 'Also remove memories that have left their source.'
complete -c ragmem -n '__ragmem_at gc' -l undo -d 'Bring back what the latest run removed.'
complete -c ragmem -n '__ragmem_at gc' -l run -x -k -a '(__ragmem_known run)' -d 'With --undo: the run to undo.'
complete -c ragmem -n '__ragmem_at gc' -l dry-run -d 'Show what would be done, change nothing.'
complete -c ragmem -n '__ragmem_at gc' -s y -l yes -d 'Do not ask.'
complete -c ragmem -n '__ragmem_at gc' -l allow-large -d 'Remove more than half of the memories if the plan says so.'
complete -c ragmem -n '__ragmem_at gc' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at gc' -s q -l quiet -d 'Errors only on standard error.'
complete -c ragmem -n '__ragmem_at gc' -l sources -r -F -d 'Use this sources.toml alone.'
complete -c ragmem -n '__ragmem_at gc' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at inspect --' -a stats -d 'Show how much there is: memories by state, source and kind, chunks, vectors, entities, size.'
complete -c ragmem -n '__ragmem_at inspect --' -a sources -d 'Show the configured sources with their globs, and what of them is stored.'
complete -c ragmem -n '__ragmem_at inspect --' -a memory -d 'Show one memory whole: where it comes from, how it was judged, its chunks and its text.'
complete -c ragmem -n '__ragmem_at inspect --' -a entity -d 'Show an entity: its type, what is said of it, and its neighbours.'
complete -c ragmem -n '__ragmem_at inspect --' -a graph -d 'Show the most connected entities.'
complete -c ragmem -n '__ragmem_at inspect --' -a config -d 'Show each setting with the place that set it.'
complete -c ragmem -n '__ragmem_at inspect --' -a log -d 'Show what was done to the memory, latest first.'
complete -c ragmem -n '__ragmem_at inspect --' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at inspect --' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at inspect stats' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at inspect stats' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at inspect sources' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at inspect sources' -l sources -r -F -d 'Use this sources.toml alone.'
complete -c ragmem -n '__ragmem_at inspect sources' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at inspect memory' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at inspect memory' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at inspect memory' -k -a '(__ragmem_known memory)'
complete -c ragmem -n '__ragmem_at inspect entity' -s n -l limit -x -d 'At most so many.'
complete -c ragmem -n '__ragmem_at inspect entity' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at inspect entity' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at inspect entity' -k -a '(__ragmem_known entity)'
complete -c ragmem -n '__ragmem_at inspect graph' -s n -l limit -x -d 'At most so many.'
complete -c ragmem -n '__ragmem_at inspect graph' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at inspect graph' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at inspect config' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at inspect config' -l sources -r -F -d 'Use this sources.toml alone.'
complete -c ragmem -n '__ragmem_at inspect config' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at inspect log' -s n -l limit -x -d 'At most so many.'
complete -c ragmem -n '__ragmem_at inspect log' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at inspect log' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at export' -s p -l project -x -k -a '(__ragmem_known project)' -d 'Only this project: name, id or path; repeatable.'
complete -c ragmem -n '__ragmem_at export' -s s -l source -x -k -a '(__ragmem_known source)' -d 'Only memories of this source; repeatable.'
complete -c ragmem -n '__ragmem_at export' -s k -l kind -x -a 'preference architecture error research general' -d 'Only memories of this kind; repeatable.'
complete -c ragmem -n '__ragmem_at export' -l since -x -d 'Only what happened since: 2026-03-15, 7d, 3w, 6m.'
complete -c ragmem -n '__ragmem_at export' -s f -l force -d 'Replace the file if there is one.'
complete -c ragmem -n '__ragmem_at export' -l dry-run -d 'Show what would be done, change nothing.'
complete -c ragmem -n '__ragmem_at export' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at export' -s q -l quiet -d 'Errors only on standard error.'
complete -c ragmem -n '__ragmem_at export' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at export' -F
complete -c ragmem -n '__ragmem_at import' -l keep -x -a 'newer existing incoming' -d 'Which one stays where a memory is here and differs.'
complete -c ragmem -n '__ragmem_at import' -l dry-run -d 'Show what would be done, change nothing.'
complete -c ragmem -n '__ragmem_at import' -l json -d 'One JSON document on standard output.'
complete -c ragmem -n '__ragmem_at import' -s q -l quiet -d 'Errors only on standard error.'
complete -c ragmem -n '__ragmem_at import' -s h -l help -d 'Show the help and exit.'
complete -c ragmem -n '__ragmem_at import' -F
complete -c ragmem -n '__ragmem_at serve' -l host -x -d 'Address to listen on; else [serve] host.'
complete -c ragmem -n '__ragmem_at serve' -l port -x -d 'Port to listen on, 0 for a free one; else [serve] port.'
complete -c ragmem -n '__ragmem_at serve' -l allow-remote -d 'Let other machines connect, on an address that is not loopback.'
complete -c ragmem -n '__ragmem_at serve' -l print-token -d 'Print the token that clients send, and exit.'
complete -c ragmem -n '__ragmem_at serve' -s q -l quiet -d 'Errors only on standard error.'
complete -c ragmem -n '__ragmem_at serve' -s h -l help -d 'Show the help and exit.'
