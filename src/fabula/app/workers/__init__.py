"""Running many jobs of one kind in processes on this machine or on a cluster.

    pool      the driver: deals jobs and turns at servers, and takes back the jobs of a lost worker
    worker    a worker: does jobs at the same time, and asks the driver for turns
    channels  the connection between them: pipes to a process, or a Ray actor

Driver and worker share nothing but messages, so that the code is the same wherever workers run. A message is a tuple
whose first part gives its kind::

    to a worker      begin (what is done)      do (number, job)           stop ()
                     turn (request, server)    well (request, whether)    spent (usage)
    to the driver    ready (version, host)     broken (why)               over (number, result)    kept (number, data)
                     ended ()
                     said (what)               spent (usage)
                     take (request, model, servers, most, rest, timeout, number)
                     give (request, answered)  failed (request, retry after)
"""
