export const brand = {
  title: "Brand",
  none: "Sign-in pages and mails have the platform's look.",
  fields: {
    name: "Name in the head of pages",
    accentColor: "Colour of buttons and links",
    accentColorDark: "The same in the dark theme",
    logoUri: "Address of the logo",
    termsUri: "Address of the terms",
    privacyUri: "Address of the privacy policy",
  },
  help: {
    name: "At most 60 characters. The host stays beside it.",
    accentColor: "#rrggbb. It needs a contrast of 4.5:1 (WCAG AA).",
    accentColorDark: "Empty: a lighter tone is made.",
    logoUri: "https. Browsers and mail programs fetch it from there.",
    termsUri: "https",
    privacyUri: "https",
  },
  themes: { light: "Light", dark: "Dark" },
  button: "Sign in",
  link: "Forgot your password?",
  contrast: (ratio: string) => `contrast ${ratio}:1`,
} as const;
