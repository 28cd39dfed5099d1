// The chosen theme, before anything is drawn.
try {
  const theme = localStorage.getItem("plinth-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {}
