"""Many jobs of one kind, done by processes on this machine or on a cluster.

    pool      what the driver does: deals jobs, and turns at servers; takes back what a lost worker had
    worker    what a worker does: jobs side by side, and asks the driver for turns
    channels  what is between them: pipes to a process, or a Ray actor

Driver and worker know nothing of each other but messages, so that there is one way of doing it wherever workers run. A
message is a tuple whose first part says what it is::

    to a worker      begin (what is done)      do (number, job)           stop ()
                     turn (request, server)    well (request, whether)    spent (usage)
    to the driver    ready (version, host)     broken (why)               over (number, result)    kept (number, data)
                     ended ()
                     said (what)               spent (usage)
                     take (request, model, servers, most, rest, timeout, number)
                     give (request, answered)  failed (request, retry after)
"""
