/** Loaded by `--import`: ends the program, as Ctrl-C would, when its parent is gone. */
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGTERM");
}, 250).unref();
