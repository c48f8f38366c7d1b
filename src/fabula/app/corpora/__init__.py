"""Work by workers on very many stories: measuring, checking, back-translating.

    stories  the stories of files and data sets, one at a time
    rows     the result for each story, in one file
    working  has workers make what is missing
    numbers  turns what evaluators found in each story into reports

A folder of such work::

    .fabula/stories.db     the result for each story; the key of a row covers everything that it depends on
    .fabula/journal.db     every call, if models are called
    .fabula/blocks/        unfinished work of workers; empty once everything is finished

A block of stories is a job. Its calls are in its own journal, which is added to the folder's when the block is
finished, or when the next session begins. The files that users read are made from the rows, one story at a time, so
that no process has all stories in memory. Parts (`--shard`) have their own folders, which `fabula data merge` combines.
"""
