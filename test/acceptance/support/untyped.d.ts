/** Libraries that bring no types. Their documentation says how they are used. */
declare module "simple-oauth2";
declare module "passport-oauth2";
declare module "ws";
