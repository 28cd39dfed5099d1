/** Loaded into a program by `--import`: ends it as Ctrl-C would when the program that started it is gone. */
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGTERM");
}, 250).unref();
