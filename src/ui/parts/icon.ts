import { STYLESHEET_DIRECTORY } from "./stylesheet.ts";

/** The outline of a plinth in a square of 24 units. */
export const ICON_PATH = "M4 3h16v4h-3v10h4v4H3v-4h4V7H4z";

/** The icon for a browser's tab, in the accent of each theme. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><style>path{fill:#0e5a75}@media(prefers-color-scheme:dark){path{fill:#83cbe4}}</style><path d="${ICON_PATH}"/></svg>`;

export const ICON_NAME = "icon.svg";

export const iconHref = (pathPrefix: string): string => `${pathPrefix}${STYLESHEET_DIRECTORY}/${ICON_NAME}`;
